// The heads of a model that has too many for one row each: which of them stand out, and the median
// head of every layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/table_style.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

// A column of the tables of heads.
struct Column {
  std::string metric;
  std::string title;
  std::string unit;
  std::size_t width;
  std::string judged = metric;  // flags that are judged by this speak of the value
};

// A head's value, at the N that separability is judged at where the metric depends on N.
std::optional<MetricCell> value_of(const Results& results, const std::string& metric,
                                   const HeadName& head);

// How many heads carry a flag.
Index count_flags(const Results& results, const std::string& flag);

// The first columns that the rows of layers have room for.
std::vector<Column> fitting_columns(std::vector<Column> columns);

// Flags from the rarest on, with the heads that carry them; of those that a fifth of the heads
// carry, the number alone. Then a row for each layer: medians over its heads, and how many of them
// have which role.
std::string render_overview(const Results& results, const std::vector<HeadName>& heads,
                            const std::vector<Column>& columns, const Painter& paint);

}  // namespace headgauge::cli
