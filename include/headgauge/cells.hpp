// Reads single values from Results for display: one head at the longest length, rounded.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// A defined cell of a metric.
struct MetricCell : Estimate {
  std::string metric = {};
  std::vector<Index> index = {};  // along the metric's dims
  bool is_none = false;           // the value means "none was found"
};

// A dim and the index to take along it.
using Pick = std::pair<std::string_view, Index>;

// The dim that says what a number was measured on, and its labels that name no task.
inline constexpr const char* kOutcome = "outcome";
inline constexpr const char* kText = "text";
inline constexpr const char* kReplay = "replay";
inline constexpr const char* kAnswers = "answers";  // of all tasks together

// Returns the labels of the coordinate outcome; none without it.
std::vector<std::string> outcomes_of(const Results& results);

// Lists the places of the outcomes that are tasks with answers. A task may have any name.
std::vector<Index> tasks_of(const Results& results);

// Returns the place of the replay of texts among the outcomes, unless that label is a task.
std::optional<Index> replay_of(const Results& results);

// Finds the cell at these picks. Takes the last "length" and the outcome "text" if none is picked.
// Returns nothing if the metric does not exist, one of its dims is not picked, or the cell is
// undefined.
std::optional<MetricCell> find_cell(const Results& results, std::string_view metric,
                                    std::span<const Pick> picks);
inline std::optional<MetricCell> find_cell(const Results& results, std::string_view metric,
                                           std::initializer_list<Pick> picks) {
  return find_cell(results, metric, std::span(picks.begin(), picks.size()));
}

// Does the same as find_cell(), but throws UsageError if there is no cell.
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

// Finds a head's cell of a metric that has no dims other than layer, head and length.
std::optional<MetricCell> find_cell_of_head(const Results& results, std::string_view metric,
                                            const HeadName& head);

// Does the same at `also`, and for a metric that depends on N at judged_top_n(); returns nothing
// for such a metric if no N is judged.
std::optional<MetricCell> find_judged_cell(const Results& results, std::string_view metric,
                                           const HeadName& head, const Pick& also = {});

// Returns the mean of find_judged_cell() over the heads where it is finite; nothing if there is
// none.
std::optional<double> mean_over_heads(const Results& results, std::string_view metric,
                                      std::span<const HeadName> heads, const Pick& also);

// Lists every head that has a defined value of some metric, layer by layer.
std::vector<HeadName> measured_heads(const Results& results);

// Returns the window of a layer, in keys; 0 if its heads have none.
double window_of_layer(const Results& results, Index layer_index);

// Returns whether no window hides keys of the longest length from the layer's heads.
bool sees_all_keys(const Results& results, Index layer_index);

// Returns the longest length; nothing if the results have no lengths.
std::optional<int> longest_length(const Results& results);

// Returns the largest number of rows in any head's mean at the longest length; nothing if no metric
// counts rows.
std::optional<std::int64_t> rows_at_longest(const Results& results);

// Returns the largest N that was searched for critical N at the longest length (a set omits at
// least one key).
std::optional<int> critical_range(const Results& results);

// Finds the index of the label `wanted` along a numeric coordinate (relative tolerance 1e-9).
std::optional<Index> find_label(const Results& results, std::string_view coord, double wanted);

// Returns the number of a layer or head (`coord` is "layer" or "head"); -1 for an invalid label.
int head_label(const Results& results, const char* coord, Index place);

// Selects heads by a HeadSelection pattern, for a diff. Throws UsageError naming DiffOptions::heads
// if a comma-separated part matches no head of these results.
HeadSelection select_heads(const Results& results, const std::string& pattern);

// Finds the top_n at which separability is judged: 20, or the largest available one below 20. Never
// 1, where the ratio is 1 by construction.
std::optional<Index> judged_top_n(const Results& results);

// Returns "normalizer" or "pattern" for the results of a comparison, else an empty name.
std::string intervention_dimension(const Results& results);

// Formats a change for display: "-0.0116 ± 0.0036". Omits the error if there is none.
std::string with_error(const MetricCell& change);

// Formats a cell for display, as the next function does. If a search found nothing, the text is
// ">128", with the largest N searched; what it found is a whole number.
std::string value_text(const Results& results, const MetricCell& cell);

// Formats a value for display: 3 significant digits above 1, 2 decimals below, no exponent.
std::string rounded(double value);

}  // namespace headgauge
