#include "results/longest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headgauge {

std::optional<Cell> find_cell(const Results& results, std::string_view metric,
                              std::initializer_list<Pick> picks) {
  const MetricArray* array = results.metric(metric);
  if (array == nullptr) return std::nullopt;
  Cell cell;
  cell.metric = metric;
  for (const std::string& dim : array->dims) {
    const auto pick =
        std::find_if(picks.begin(), picks.end(), [&](const Pick& p) { return p.first == dim; });
    if (pick != picks.end()) {
      cell.index.push_back(pick->second);
    } else if (dim == "length" && results.coord_size(dim) > 0) {
      cell.index.push_back(results.coord_size(dim) - 1);
    } else {
      return std::nullopt;
    }
  }
  const auto flat = static_cast<std::size_t>(results.flat_index(*array, cell.index));
  cell.value = array->values[flat];
  if (!array->standard_error.empty()) cell.standard_error = array->standard_error[flat];
  if (!std::isfinite(cell.value)) return std::nullopt;
  return cell;
}

std::vector<HeadName> measured_heads(const Results& results) {
  std::vector<HeadName> heads;
  if (results.coord("layer") == nullptr || results.coord("head") == nullptr) return heads;
  const auto layers = results.coord_numbers("layer");
  const auto numbers = results.coord_numbers("head");
  const std::size_t count = layers.size() * numbers.size();
  std::vector<bool> measured(count, false);
  for (const auto& [name, metric] : results.metrics) {
    if (metric.dims.size() < 2 || metric.dims[0] != "layer" || metric.dims[1] != "head") continue;
    // layer and head come first, so that each head owns one run of cells.
    const std::size_t run = metric.values.size() / std::max<std::size_t>(1, count);
    for (std::size_t h = 0; h < count; ++h) {
      const auto first = metric.values.begin() + static_cast<std::ptrdiff_t>(h * run);
      if (std::any_of(first, first + static_cast<std::ptrdiff_t>(run),
                      [](double value) { return std::isfinite(value); })) {
        measured[h] = true;
      }
    }
  }
  for (std::size_t h = 0; h < count; ++h) {
    if (!measured[h]) continue;
    const std::size_t i = h / numbers.size();
    const std::size_t j = h % numbers.size();
    heads.push_back({static_cast<Index>(i), static_cast<Index>(j), static_cast<int>(layers[i]),
                     static_cast<int>(numbers[j])});
  }
  return heads;
}

std::optional<int> longest_length(const Results& results) {
  if (results.coord("length") == nullptr) return std::nullopt;
  const auto lengths = results.coord_numbers("length");
  if (lengths.empty()) return std::nullopt;
  return static_cast<int>(lengths.back());
}

std::optional<int> critical_range(const Results& results) {
  const auto longest = longest_length(results);
  const auto most = results.settings.find("critical_max");
  if (!longest || most == results.settings.end() || !most->is_number_integer()) {
    return std::nullopt;
  }
  return std::min(most->get<int>(), std::max(0, *longest - 1));
}

std::optional<Index> find_label(const Results& results, std::string_view coord, double wanted) {
  if (results.coord(coord) == nullptr) return std::nullopt;
  const auto labels = results.coord_numbers(coord);
  for (std::size_t k = 0; k < labels.size(); ++k) {
    if (std::abs(labels[k] - wanted) <= 1e-9 * std::abs(wanted)) return static_cast<Index>(k);
  }
  return std::nullopt;
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

bool has_dim(const MetricArray& metric, std::string_view dim) {
  return std::ranges::find(metric.dims, dim) != metric.dims.end();
}

std::string intervention_dimension(const Results& results) {
  for (const char* dim : {"normalizer", "pattern"}) {
    if (results.coord(dim) != nullptr) return dim;
  }
  return "";
}

std::string critical_text(const Results& results, double value) {
  if (value >= 0) return fmt::format("{:.0f}", value);
  // -1: none among those that were tried.
  const auto limit = critical_range(results);
  return limit ? fmt::format(">{}", *limit) : "none";
}

std::string with_error(const Cell& change) {
  if (std::isnan(change.standard_error)) return fmt::format("{:+.4f}", change.value);
  return fmt::format("{:+.4f} ± {:.4f}", change.value, change.standard_error);
}

std::string rounded(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  // The limits are where rounding would show a digit more: 9.996 is 10.0, not 10.00.
  std::string text = size >= 99.95   ? fmt::format("{:.0f}", value)
                     : size >= 9.995 ? fmt::format("{:.1f}", value)
                                     : fmt::format("{:.2f}", value);
  if (text == "-0.00") text = "0.00";
  return text;
}

}  // namespace headgauge
