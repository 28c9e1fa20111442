// Reads Results the way a person does: one head at the longest length, in rounded numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// A defined cell of a metric.
struct MetricCell {
  std::string metric;
  std::vector<Index> index;  // along the metric's dims
  double value = kUndefined;
  double standard_error = kUndefined;
  double degrees_of_freedom = kUndefined;
  bool is_none = false;  // the value stands for "none was found"
};

// The index to take along one dim.
using Pick = std::pair<std::string_view, Index>;

// Finds the cell at these picks; takes the last "length" where none is picked. Gives nothing where
// there is no such metric, a dim of it is not picked, or the cell is undefined.
std::optional<MetricCell> find_cell(const Results& results, std::string_view metric,
                                    std::initializer_list<Pick> picks);

// The same; UsageError where there is nothing.
MetricCell require_cell(const Results& results, std::string_view metric,
                        std::initializer_list<Pick> picks);

// One head, by its indices along the coordinates and by its labels.
struct HeadName {
  Index layer_index = 0;
  Index head_index = 0;
  int layer = 0;
  int head = 0;
  std::string text() const { return std::to_string(layer) + "." + std::to_string(head); }
};

// Finds a head's cell of a metric that has no dims but layer, head and length.
std::optional<MetricCell> find_cell_of_head(const Results& results, std::string_view metric,
                                            const HeadName& head);

// Lists every head of which some metric is defined anywhere, layer by layer.
std::vector<HeadName> measured_heads(const Results& results);

// Gives the longest length; nothing if the results have no lengths.
std::optional<int> longest_length(const Results& results);

// Gives the most rows that some head's mean at the longest length is of; nothing if no metric
// counts rows.
std::optional<std::int64_t> rows_at_longest(const Results& results);

// Gives the largest N searched for critical N at the longest length: a set leaves a key out.
std::optional<int> critical_range(const Results& results);

// Finds the place of the label `wanted` along a coordinate of numbers (to 1e-9 relative).
std::optional<Index> find_label(const Results& results, std::string_view coord, double wanted);

// Gives the number of a layer or head ("layer", "head"); -1 for a label that is none.
int head_label(const Results& results, const char* coord, Index place);

// The heads of a pattern as HeadSelection has it, for a diff. Throws UsageError, which names
// DiffOptions::heads, if a part of it between commas names no head of these results.
HeadSelection select_heads(const Results& results, const std::string& pattern);

// Finds the top_n that separability is judged at: 20, or the largest below, but not 1, where
// the ratio is 1 by construction.
std::optional<Index> judged_top_n(const Results& results);

// Gives "normalizer" or "pattern" for the results of a comparison, else an empty name.
std::string intervention_dimension(const Results& results);

// Writes a change as people read it: "-0.0116 ± 0.0036", the error only where there is one.
std::string with_error(const MetricCell& change);

// Writes a value as people read it: 3 significant digits above 1, 2 decimals below, no exponent.
std::string rounded(double value);

}  // namespace headgauge
