#include "reproduce/scan_values.hpp"

#include "headgauge/catalogue.hpp"

namespace headgauge {

std::span<const double> numbers(const Results& results, std::string_view coord) {
  return results.coord(coord) == nullptr ? std::span<const double>() : results.coord_numbers(coord);
}

std::optional<double> value_at(const Results& results, std::string_view metric,
                               const HeadName& head, std::string_view along, Index at,
                               const Pick& size) {
  const auto cell = find_cell(
      results, metric, {{"layer", head.layer_index}, {"head", head.head_index}, {along, at}, size});
  return cell ? std::optional(cell->value) : std::nullopt;
}

std::vector<HeadName> heads_of(const Results& results, Heads which) {
  std::vector<HeadName> heads = measured_heads(results);
  if (which == Heads::all) return heads;
  std::erase_if(heads,
                [&](const HeadName& head) { return !sees_all_keys(results, head.layer_index); });
  return heads;
}

bool has_windows_alone(const Results& results) {
  return heads_of(results, Heads::without_window).empty() && !heads_of(results, Heads::all).empty();
}

std::vector<double> ratios(const Results& results, Heads which, const char* over, const char* under,
                           Index length, Index n) {
  std::vector<double> found;
  for (const HeadName& head : heads_of(results, which)) {
    const auto at = [&](const char* metric) {
      return value_at(results, metric, head, "length", length, {"top_n", n}).value_or(kUndefined);
    };
    const double ratio = at(over) / at(under);
    found.push_back(std::isfinite(ratio) && ratio > 0 ? ratio : kUndefined);
  }
  return found;
}

Growth growth_of(const Results& results, const std::string& metric, const HeadName& head,
                 const Pick& size) {
  const bool causal = results.model.causal.value_or(true);
  const std::string along = causal ? "position" : "length";
  const auto labels = numbers(results, along);
  Growth growth;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < kShortestDrawn) continue;
    const auto value = value_at(results, causal ? twin_by_position(metric) : metric, head, along,
                                static_cast<Index>(i), size);
    if (!value) continue;
    const double before = causal && i > 0 ? labels[i - 1] : 0;
    growth.context.push_back(causal ? (before + 1 + labels[i]) / 2 : labels[i]);
    growth.value.push_back(*value);
  }
  return growth;
}

std::vector<double> HeadPowers::values() const {
  std::vector<double> list;
  for (const Estimate& exponent : exponents) list.push_back(exponent.value);
  return list;
}

HeadPowers powers_of_heads(const Results& results, const std::string& metric, const Pick& size,
                           double low, double high) {
  HeadPowers powers;
  for (const HeadName& head : heads_of(results, Heads::without_window)) {
    const Growth growth = growth_of(results, metric, head, size);
    const auto power = power_of(growth.context, growth.value);
    powers.votes.add(power ? place_of(*power, low, high) : Place::open);
    if (power) powers.exponents.push_back(*power);
  }
  return powers;
}

}  // namespace headgauge
