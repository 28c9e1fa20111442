// Reads the steps of checkpoints from the names of their results.
#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>

#include "headgauge/series.hpp"

namespace headgauge {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool is_digit(char c) {
  return kDigits.find(c) != std::string_view::npos;
}

// Returns how many characters at the end all names share, without cutting a number.
std::size_t shared_end(std::span<const std::string> names) {
  std::string_view shared = names.front();
  for (const std::string& name : names) {
    const auto [a, b] =
        std::ranges::mismatch(std::string_view(name).rbegin(), std::string_view(name).rend(),
                              shared.rbegin(), shared.rend());
    shared.remove_prefix(static_cast<std::size_t>(shared.rend() - b));
  }
  const auto in_number = [&] {
    if (shared.empty()) return false;
    return is_digit(shared[0]) || (shared[0] == '.' && shared.size() > 1 && is_digit(shared[1]));
  };
  while (in_number()) shared.remove_prefix(1);
  return shared.size();
}

// A name that ends in a number, and the text before it in its part of the path.
struct Numbered {
  std::string_view before;
  double number = 0;
};

std::optional<Numbered> numbered(std::string_view name) {
  if (name.empty() || !is_digit(name.back())) return {};
  const std::size_t other = name.find_last_not_of("0123456789.");
  std::size_t begin = other == std::string_view::npos ? 0 : other + 1;
  while (name[begin] == '.') ++begin;
  const std::string_view digits = name.substr(begin);
  Numbered found;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, found.number, std::chars_format::fixed);
  if (read.ec != std::errc{} || read.ptr != end) return {};
  const std::size_t slash = name.find_last_of("/\\", begin);
  const std::size_t part = slash == std::string_view::npos ? 0 : slash + 1;
  found.before = name.substr(part, begin - part);
  return found;
}

}  // namespace

std::vector<double> steps_of(std::span<const std::string> names) {
  std::vector<double> steps;
  if (names.empty()) return steps;
  const std::size_t end = shared_end(names);
  std::set<std::string_view> before;
  for (const std::string& name : names) {
    const auto found = numbered(std::string_view(name).substr(0, name.size() - end));
    if (!found) return {};
    before.insert(found->before);
    steps.push_back(found->number);
  }
  const std::set<double> distinct(steps.begin(), steps.end());
  if (before.size() > 1 || distinct.size() < steps.size()) return {};
  return steps;
}

}  // namespace headgauge
