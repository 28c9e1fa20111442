#include "cli/columns.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headgauge/catalogue.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kLegend = 9;  // indent of the meanings

}  // namespace

std::string value_text(const Results& results, const MetricCell& cell) {
  if (cell.is_none) {
    const auto limit = critical_range(results);
    return limit ? fmt::format(">{}", *limit) : "none";
  }
  // Metrics that are found by a search are whole numbers.
  const bool whole = results.require_metric(cell.metric).none.has_value();
  return whole ? fmt::format("{:.0f}", cell.value) : rounded(cell.value);
}

std::string legend_line(const Painter& paint, Style style, std::string_view title,
                        std::string_view meaning, std::size_t width) {
  return paint.entry(style, title, meaning, std::min(width, kTableWidth), kLegend,
                     style == Style::warning ? Style::plain : Style::faint);
}

std::string metric_legend(const Painter& paint, std::string_view title, std::string_view metric,
                          std::size_t width) {
  return legend_line(paint, Style::bold, title, metric_info(metric).meaning, width);
}

}  // namespace headgauge::cli
