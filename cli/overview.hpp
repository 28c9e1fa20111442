// Summarizes the heads of a model that has too many for one row each: the heads that stand out, and
// the median head of every layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/text_table.hpp"
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

// Lists the flags, the rarest first, with the heads that carry them; if at least a fifth of the
// heads carry a flag, only their number. Empty if there are no flags.
std::string what_stands_out(const Results& results, std::size_t heads, const Painter& paint);

// Makes a row for each layer: the medians over its heads, of as many of the first metrics as fit,
// and the number of heads in each role.
TextTable layer_table(const Results& results, const std::vector<HeadName>& heads,
                      const std::vector<Column>& metrics, const Painter& paint);

}  // namespace headgauge::cli
