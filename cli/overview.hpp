// Summarizes the heads of a model that has too many for one row each: the heads that stand out, and
// the median head of every layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// Returns the metric of a head; if the metric depends on N, at the N at which separability is
// judged.
std::optional<MetricCell> value_of(const Results& results, const std::string& metric,
                                   const HeadName& head);

// Returns the number of heads that carry a flag.
Index count_flags(const Results& results, const std::string& flag);

// Returns as many of the first columns as fit the rows of layers.
std::vector<Column> fitting_columns(std::vector<Column> columns);

// Lists the flags, the rarest first, with the heads that carry them; if at least a fifth of the
// heads carry a flag, only their number. Then a row for each layer: the medians over its heads, and
// the number of heads in each role.
std::string render_overview(const Results& results, const std::vector<HeadName>& heads,
                            const std::vector<Column>& columns, const Painter& paint);

}  // namespace headgauge::cli
