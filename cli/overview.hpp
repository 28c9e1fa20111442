// Summarizes the heads of a model that has too many for one row each: the median head of every
// layer.
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

// Draws a letter for each head, the first of its rarest role, in a colour for each role; empty for
// a model of too many layers or heads.
std::string head_map(const Results& results, const Painter& paint);

// Makes a row for each layer: the medians over its heads, of as many of the first metrics as fit,
// and the number of heads in each role.
TextTable layer_table(const Results& results, const std::vector<HeadName>& heads,
                      const std::vector<Column>& metrics, const Painter& paint);

}  // namespace headgauge::cli
