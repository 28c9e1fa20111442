#include "headgauge/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "headgauge/metric_names.hpp"
#include "results/value_or.hpp"

namespace headgauge {
namespace {

// More than any model has; limits the size of the selection table.
constexpr int kMost = 4096;

int count(const Results& results, const char* coord) {
  int most = 0;
  for (Index i = 0; i < results.coord_size(coord); ++i) {
    most = std::max(most, head_label(results, coord, i) + 1);
  }
  return most;
}

bool names_a_head(const Results& results, const HeadSelection& selection) {
  for (Index i = 0; i < results.coord_size("layer"); ++i) {
    for (Index j = 0; j < results.coord_size("head"); ++j) {
      const int layer = head_label(results, "layer", i), head = head_label(results, "head", j);
      if (layer >= 0 && head >= 0 && selection.contains(layer, head)) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::string> outcomes_of(const Results& results) {
  if (results.coord(kOutcome) == nullptr) return {};
  const auto names = results.coord_names(kOutcome);
  return {names.begin(), names.end()};
}

std::vector<Index> tasks_of(const Results& results) {
  std::vector<Index> places;
  const LabelledArray* does = results.metric(metric::does_task);
  if (does == nullptr || does->dim_names() != std::vector<std::string>{kOutcome}) return places;
  for (Index i = 0; i < does->size(); ++i) {
    if (!std::isnan(does->values[i])) places.push_back(i);
  }
  return places;
}

std::optional<Index> replay_of(const Results& results) {
  const Dimension* outcomes = results.coord(kOutcome);
  const auto place = outcomes == nullptr ? std::nullopt : outcomes->find(kReplay);
  return place && std::ranges::count(tasks_of(results), *place) == 0 ? place : std::nullopt;
}

std::optional<MetricCell> find_cell(const Results& results, std::string_view metric,
                                    std::span<const Pick> picks) {
  const LabelledArray* array = results.metric(metric);
  if (array == nullptr) return std::nullopt;
  MetricCell cell;
  cell.metric = metric;
  for (const Dimension& dim : array->dims()) {
    const auto pick = std::ranges::find(picks, dim.name(), &Pick::first);
    if (pick != picks.end()) {
      cell.index.push_back(pick->second);
    } else if (dim.name() == "length" && dim.size() > 0) {
      cell.index.push_back(dim.size() - 1);
    } else if (const auto text = dim.name() == kOutcome ? dim.find(kText) : std::nullopt) {
      cell.index.push_back(*text);
    } else {
      return std::nullopt;
    }
  }
  static_cast<Estimate&>(cell) = array->at(cell.index);
  if (!std::isfinite(cell.value)) return std::nullopt;
  cell.is_none = array->is_none(cell.value);
  return cell;
}

MetricCell require_cell(const Results& results, std::string_view metric,
                        std::initializer_list<Pick> picks) {
  if (auto cell = find_cell(results, metric, picks)) return *std::move(cell);
  throw UsageError(fault("results", fmt::format("a value of {}", metric), "none",
                         "make the results with headgauge"));
}

std::optional<MetricCell> find_cell_of_head(const Results& results, std::string_view metric,
                                            const HeadName& head) {
  return find_cell(results, metric, {{"layer", head.layer_index}, {"head", head.head_index}});
}

std::optional<MetricCell> find_judged_cell(const Results& results, std::string_view metric,
                                           const HeadName& head, const Pick& also) {
  const auto top_n = judged_top_n(results);
  const Pick judged = top_n ? Pick{"top_n", *top_n} : Pick{};
  return find_cell(results, metric,
                   {{"layer", head.layer_index}, {"head", head.head_index}, also, judged});
}

std::optional<double> mean_over_heads(const Results& results, std::string_view metric,
                                      std::span<const HeadName> heads, const Pick& also) {
  double sum = 0;
  int count = 0;
  for (const HeadName& head : heads) {
    const auto found = find_judged_cell(results, metric, head, also);
    if (!found || !std::isfinite(found->value)) continue;
    sum += found->value;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

std::vector<HeadName> measured_heads(const Results& results) {
  std::vector<HeadName> heads;
  if (results.coord("layer") == nullptr || results.coord("head") == nullptr) return heads;
  const auto layers = results.coord_numbers("layer"), numbers = results.coord_numbers("head");
  std::set<std::pair<Index, Index>> measured;
  for (const auto& [name, metric] : results.metrics) {
    if (!metric.of_heads()) continue;
    metric.each([&, &values = metric.values](std::span<const Index> cell, std::size_t at) {
      if (std::isfinite(values[at])) measured.emplace(cell[0], cell[1]);
    });
  }
  for (const auto& [layer, head] : measured) {
    heads.push_back({layer, head, static_cast<int>(layers[static_cast<std::size_t>(layer)]),
                     static_cast<int>(numbers[static_cast<std::size_t>(head)])});
  }
  return heads;
}

double window_of_layer(const Results& results, Index layer_index) {
  if (results.coord("window") == nullptr) return 0;
  return results.coord_numbers("window")[static_cast<std::size_t>(layer_index)];
}

bool sees_all_keys(const Results& results, Index layer_index) {
  const double window = window_of_layer(results, layer_index);
  return window == 0 || window >= longest_length(results).value_or(0);
}

std::optional<int> longest_length(const Results& results) {
  if (results.coord("length") == nullptr) return std::nullopt;
  const auto lengths = results.coord_numbers("length");
  if (lengths.empty()) return std::nullopt;
  return static_cast<int>(lengths.back());
}

std::optional<std::int64_t> rows_at_longest(const Results& results) {
  std::optional<std::int64_t> most;
  const Index last = results.coord_size("length") - 1;
  for (const auto& [name, metric] : results.metrics) {
    if (!metric.of_heads() || !metric.has_dim("length") || metric.rows.empty()) continue;
    for (const std::int64_t rows : metric.isel("length", last).rows) {
      most = std::max(most.value_or(0), rows);
    }
  }
  return most;
}

std::optional<int> critical_range(const Results& results) {
  const auto longest = longest_length(results);
  const int most = value_or(results.settings, "critical_max", -1);
  if (!longest || most < 0) return std::nullopt;
  return std::min(most, std::max(0, *longest - 1));
}

std::optional<Index> find_label(const Results& results, std::string_view coord, double wanted) {
  const Dimension* dim = results.coord(coord);
  if (dim == nullptr) return std::nullopt;
  dim->numbers();  // throws if the labels are names
  return dim->find(wanted);
}

int head_label(const Results& results, const char* coord, Index place) {
  const double label = results.coord_numbers(coord)[static_cast<std::size_t>(place)];
  if (!(label >= 0 && label < kMost) || label != static_cast<int>(label)) return -1;
  return static_cast<int>(label);
}

HeadSelection select_heads(const Results& results, const std::string& pattern) {
  const int layers = count(results, "layer"), heads = count(results, "head");
  HeadSelection all("", pattern, layers, heads, "DiffOptions");
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (names_a_head(results, HeadSelection("", part, layers, heads, "DiffOptions"))) continue;
    throw UsageError(fault("DiffOptions::heads", "heads of both files",
                           "\"" + std::string(part) + "\"",
                           "both have the layers " + labels_text(results.coord("layer")->labels()) +
                               " and the heads " + labels_text(results.coord("head")->labels())));
  }
  return all;
}

std::optional<Index> judged_top_n(const Results& results) {
  if (results.coord("top_n") == nullptr) return std::nullopt;
  const auto sizes = results.coord_numbers("top_n");
  std::optional<Index> best;
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] < 2 || sizes[k] > 20) continue;
    if (!best || sizes[k] > sizes[static_cast<std::size_t>(*best)]) best = static_cast<Index>(k);
  }
  return best;
}

std::string intervention_dimension(const Results& results) {
  for (const char* dim : {"normalizer", "pattern"}) {
    if (results.coord(dim) != nullptr) return dim;
  }
  return "";
}

std::string with_error(const MetricCell& change) {
  if (std::isnan(change.standard_error)) return fmt::format("{:+.4f}", change.value);
  return fmt::format("{:+.4f} ± {:.4f}", change.value, change.standard_error);
}

std::string value_text(const Results& results, const MetricCell& cell) {
  if (cell.is_none) {
    const auto limit = critical_range(results);
    return limit ? fmt::format(">{}", *limit) : "none";
  }
  const bool whole = results.require_metric(cell.metric).none.has_value();
  return whole ? fmt::format("{:.0f}", cell.value) : rounded(cell.value);
}

std::string rounded(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  // The thresholds account for rounding: 9.996 becomes 10.0, not 10.00.
  std::string text = size >= 99.95   ? fmt::format("{:.0f}", value)
                     : size >= 9.995 ? fmt::format("{:.1f}", value)
                                     : fmt::format("{:.2f}", value);
  if (text == "-0.00") text = "0.00";
  return text;
}

}  // namespace headgauge
