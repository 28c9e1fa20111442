#include "results/overlap.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace headgauge {
namespace {

constexpr double kSame = 1e-9;

// From labels to places.
class Finder {
 public:
  explicit Finder(const Coordinate& coord) {
    if (const auto* names = std::get_if<std::vector<std::string>>(&coord)) {
      for (std::size_t i = 0; i < names->size(); ++i) names_.emplace((*names)[i], i);
    } else {
      const auto& numbers = std::get<std::vector<double>>(coord);
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers_.emplace(numbers[i], i);
    }
  }
  Index operator()(const std::string& name) const {
    const auto it = names_.find(name);
    return it == names_.end() ? -1 : static_cast<Index>(it->second);
  }
  Index operator()(double number) const {
    const double margin = kSame * std::abs(number);
    const auto it = numbers_.lower_bound(number - margin);
    return it == numbers_.end() || it->first > number + margin ? -1
                                                               : static_cast<Index>(it->second);
  }

 private:
  std::map<std::string, std::size_t> names_;
  std::map<double, std::size_t> numbers_;
};

std::vector<std::string> number_runs(const std::vector<double>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - i > 2) {
      parts.push_back(fmt::format("{:.6g}-{:.6g}", numbers[i], numbers[end - 1]));
    } else {
      end = i + 1;
      parts.push_back(fmt::format("{:.6g}", numbers[i]));
    }
    i = end;
  }
  return parts;
}

}  // namespace

std::vector<SharedLabel> shared_labels(std::string_view name, const Coordinate& before,
                                       const Coordinate& after) {
  std::vector<SharedLabel> shared;
  const Finder find(before);
  std::visit(
      [&](const auto& labels) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
          const Index place = find(labels[i]);
          if (place < 0) continue;
          if (name == "position") {
            const Index previous = i == 0 ? -1 : find(labels[i - 1]);
            if ((i > 0 && previous < 0) || previous != place - 1) continue;
          }
          shared.push_back({place, static_cast<Index>(i)});
        }
      },
      after);
  return shared;
}

Coordinate labels_at(const Coordinate& coord, const std::vector<Index>& places) {
  return std::visit(
      [&](const auto& labels) -> Coordinate {
        std::decay_t<decltype(labels)> chosen;
        for (const Index place : places) chosen.push_back(labels[static_cast<std::size_t>(place)]);
        return chosen;
      },
      coord);
}

std::string label_text(const Coordinate& coord, Index place) {
  const auto at = static_cast<std::size_t>(place);
  if (const auto* names = std::get_if<std::vector<std::string>>(&coord)) return (*names)[at];
  return fmt::format("{:.6g}", std::get<std::vector<double>>(coord)[at]);
}

std::string labels_text(const Coordinate& coord) {
  constexpr std::size_t kShown = 6;
  const auto* numbers = std::get_if<std::vector<double>>(&coord);
  const auto parts =
      numbers != nullptr ? number_runs(*numbers) : std::get<std::vector<std::string>>(coord);
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == kShown && parts.size() > kShown + 1) {
      return legible(text) + fmt::format(" and {} more", parts.size() - i);
    }
    text += (i == 0 ? "" : ", ") + parts[i];
  }
  return text.empty() ? "none" : legible(text);
}

std::string legible(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace headgauge
