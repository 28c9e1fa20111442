#include "cli/columns.hpp"

#include <fmt/format.h>

namespace headgauge::cli {

std::string value_text(const Results& results, const MetricCell& cell) {
  if (cell.is_none) {
    const auto limit = critical_range(results);
    return limit ? fmt::format(">{}", *limit) : "none";
  }
  // What is searched for is a whole number.
  const bool whole = results.require_metric(cell.metric).none.has_value();
  return whole ? fmt::format("{:.0f}", cell.value) : rounded(cell.value);
}

}  // namespace headgauge::cli
