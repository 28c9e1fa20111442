#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "headgauge/array.hpp"
#include "headgauge/text.hpp"

namespace headgauge {
namespace {

constexpr double kSame = 1e-9;  // relative tolerance

// Maps labels to indices.
class Finder {
 public:
  explicit Finder(const Coordinate& labels) {
    if (const auto* names = std::get_if<std::vector<std::string>>(&labels)) {
      for (std::size_t i = 0; i < names->size(); ++i) names_.emplace((*names)[i], i);
    } else {
      const auto& numbers = std::get<std::vector<double>>(labels);
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers_.emplace(numbers[i], i);
    }
  }
  Index operator()(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? -1 : static_cast<Index>(found->second);
  }
  Index operator()(double number) const {
    const double margin = kSame * std::abs(number);
    const auto found = numbers_.lower_bound(number - margin);
    if (found == numbers_.end() || found->first > number + margin) return -1;
    return static_cast<Index>(found->second);
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

Dimension::Dimension(std::string name, Coordinate labels)
    : name_(std::move(name)), labels_(std::make_shared<const Coordinate>(std::move(labels))) {
  size_ = std::visit([](const auto& list) { return std::ssize(list); }, *labels_);
}

std::span<const double> Dimension::numbers() const {
  const auto* numbers = std::get_if<std::vector<double>>(labels_.get());
  if (numbers != nullptr) return *numbers;
  throw UsageError(fault("results", "numbers in the coordinate \"" + name_ + "\"", "names", ""));
}

std::span<const std::string> Dimension::names() const {
  const auto* names = std::get_if<std::vector<std::string>>(labels_.get());
  if (names != nullptr) return *names;
  throw UsageError(fault("results", "names in the coordinate \"" + name_ + "\"", "numbers", ""));
}

std::string Dimension::label(Index place) const {
  if (const auto* names = std::get_if<std::vector<std::string>>(labels_.get())) {
    return (*names)[place];
  }
  return fmt::format("{:.6g}", std::get<std::vector<double>>(*labels_)[place]);
}

std::optional<Index> Dimension::find(double label) const {
  const auto* labels = std::get_if<std::vector<double>>(labels_.get());
  if (labels == nullptr) return std::nullopt;
  for (Index i = 0; i < size_; ++i) {
    if (std::abs((*labels)[i] - label) <= kSame * std::abs(label)) return i;
  }
  return std::nullopt;
}

std::optional<Index> Dimension::find(std::string_view label) const {
  const auto* labels = std::get_if<std::vector<std::string>>(labels_.get());
  if (labels == nullptr) return std::nullopt;
  const auto found = std::ranges::find(*labels, label);
  if (found == labels->end()) return std::nullopt;
  return found - labels->begin();
}

Dimension Dimension::take(std::span<const Index> places) const {
  return {name_, std::visit(
                     [&](const auto& labels) -> Coordinate {
                       std::decay_t<decltype(labels)> chosen;
                       for (const Index place : places) chosen.push_back(labels[place]);
                       return chosen;
                     },
                     *labels_)};
}

Dimension Dimension::renamed(std::string name) const {
  Dimension copy = *this;
  copy.name_ = std::move(name);
  return copy;
}

bool operator==(const Dimension& a, const Dimension& b) {
  return a.name_ == b.name_ && (a.labels_ == b.labels_ || *a.labels_ == *b.labels_);
}

std::string labels_text(const Coordinate& labels, std::size_t shown) {
  const auto* numbers = std::get_if<std::vector<double>>(&labels);
  const auto parts =
      numbers != nullptr ? number_runs(*numbers) : std::get<std::vector<std::string>>(labels);
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i == shown && parts.size() > shown + 1) {
      return legible(text) + fmt::format(" and {} more", parts.size() - i);
    }
    text += (i == 0 ? "" : ", ") + parts[i];
  }
  return text.empty() ? "none" : legible(text);
}

std::vector<SharedPlace> shared_places(const Dimension& first, const Dimension& second) {
  std::vector<SharedPlace> shared;
  const Finder find(first.labels());
  const bool intervals = second.name() == "position";
  std::visit(
      [&](const auto& labels) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
          const Index place = find(labels[i]);
          if (place < 0) continue;
          if (intervals) {
            const Index previous = i == 0 ? -1 : find(labels[i - 1]);
            if ((i > 0 && previous < 0) || previous != place - 1) continue;
          }
          shared.push_back({place, static_cast<Index>(i)});
        }
      },
      second.labels());
  return shared;
}

}  // namespace headgauge
