#include "headgauge/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "headgauge/diff.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// Converts a member of any kind to JSON; an empty value or 0 becomes the word for it.
struct ToJson {
  const Option& option;

  Json operator()(const Choice& value) const { return value.words.at(value.get()); }
  Json operator()(const Texts* value) const {
    const auto names = names_of(*value);
    return (*this)(&names);
  }
  template <class T>
  Json operator()(const T* value) const {
    if (!option.none.empty() && *value == T{}) return option.none;
    return *value;
  }
  template <class T>
  Json operator()(const std::optional<T>* value) const {
    if (!value->has_value()) return nullptr;
    return (*this)(&**value);
  }
};

std::string replaced(std::string text, char from, char to) {
  std::ranges::replace(text, from, to);
  return text;
}

}  // namespace

std::string Option::name() const {
  if (!named.empty()) return named;
  const std::size_t colon = member.rfind(':');
  return replaced(colon == member.npos ? member : member.substr(colon + 1), '_', '-');
}

std::string Option::key() const {
  return replaced(name(), '-', '_');
}

Json option_setting(const Option& option) {
  return std::visit(ToJson{option}, option.value);
}

std::string option_text(const Option& option) {
  const Json setting = option_setting(option);
  const auto text = [](const Json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.is_number_float() ? fmt::format("{}", value.get<double>()) : value.dump();
  };
  if (!setting.is_array()) return text(setting);
  std::vector<std::string> parts;
  for (const Json& value : setting) parts.push_back(text(value));
  return fmt::format("{}", fmt::join(parts, ","));
}

void write_settings(const std::vector<Option>& options, Json& settings) {
  for (const Option& option : options) settings[option.key()] = option_setting(option);
}

std::vector<Option> in_group(const char* group, std::vector<Option> options) {
  for (Option& option : options) {
    if (option.group.empty()) option.group = group;
  }
  return options;
}

Option normalizer_option(const std::string& owner, std::string& normalizer) {
  return {.member = owner + "::normalizer",
          .value = &normalizer,
          .form = "NAME[:KEY=VALUE]",
          .group = option_group::measured,
          .help =
              "Normalizer, which turns scores into weights (default {}); headgauge list "
              "normalizers lists them",
          .details = "See [normalizers.md](normalizers.md)"};
}

Option threads_option(const std::string& owner, int& threads) {
  return {.member = owner + "::threads",
          .value = &threads,
          .form = "T",
          .group = option_group::running,
          .help = "Number of threads (default: the number of cores)",
          .details = "The results are the same bits for any number",
          .least = 1,
          .most = 1024,  // far more than there is work for
          .decides = false};
}

Option seed_option(const std::string& owner, std::uint64_t& seed) {
  return {.member = owner + "::seed",
          .value = &seed,
          .form = "S",
          .group = option_group::running,
          .help = "Seed of every random draw (default {})"};
}

std::vector<Option> options_of(DiffOptions& o) {
  return in_group(
      option_group::compared,
      {{.member = "DiffOptions::metrics",
        .value = &o.metrics,
        .form = "NAME,NAME...",
        .help = "Compare only these metrics (default: all that both have)",
        .details = "Those by position, and the changes that `compare` wrote, are listed only if "
                   "they are named here",
        .expects = "the name of a metric"},
       {.member = "DiffOptions::heads",
        .value = &o.heads,
        .form = "LIST",
        .help = "Compare only these heads, as layer.head: 3.5,7.*; and only metrics of heads",
        .expects = "heads such as 3.5,7.*"}});
}

std::vector<double> geometric(double first, double last, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(i + 1 == count && count > 1
                         ? last
                         : first * std::pow(last / first, count > 1 ? i / (count - 1.0) : 0));
  }
  return values;
}

Option& find_option(std::vector<Option>& options, std::string_view name) {
  const auto found = std::ranges::find(options, name, &Option::name);
  if (found == options.end()) throw std::logic_error(fmt::format("no option {}", name));
  return *found;
}

}  // namespace headgauge
