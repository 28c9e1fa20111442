#include "cli/columns.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace headgauge::cli {
namespace {

constexpr std::size_t kLegend = 9;  // indent of the meanings

}  // namespace

TextColumn metric_column(const Column& column) {
  const MetricInfo* const info = find_metric_info(column.metric);
  return {column.title, column.width, column.unit, 0, info == nullptr ? "" : info->meaning};
}

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

}  // namespace headgauge::cli
