// Converts the engine's tables to labelled arrays.
#pragma once

#include <span>

#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"
#include "scan/statistics.hpp"

namespace headgauge {

// The measured layers and heads in ascending order.
struct Measured {
  std::vector<int> layers;
  std::vector<int> heads;
};

// Sets the coordinates layer, head, length, position, top_n, temperature and epsilon, and per head
// or layer kv_head, layer_type and window.
void write_coords(const Measured& measured, const MeasuredRows& plan, const MeasureOptions& options,
                  const SourceInfo& source, Results& results);

// Adds every row metric of the layout, and its _by_position twin if it has one.
void write_row_metrics(const Measured& measured, const CellLayout& layout,
                       const std::vector<const LayerTable*>& tables, const HeadSelection& selection,
                       Results& results);

inline constexpr std::string_view kNotFinite = "because a row is not finite";

// Makes every mean that is not finite undefined, of no rows; a notice says of which metrics.
void leave_out_not_finite(Results& results);

// Removes every metric without a dim `layer` and returns their names: computed from some of the
// layers they would be wrong, not only incomplete.
std::vector<std::string> drop_whole_model_metrics(Results& results);

// Returns a sentence for each document that is too short for some lengths. Results::text has their
// names.
std::vector<std::string> short_document_notices(std::span<const int> lengths,
                                                const SourceInfo& source, const Results& results);

// Returns the reason why SourceInfo::has_loss is false.
std::string why_no_loss(const SourceInfo& source);

// Returns a sentence on lengths beyond those in training; empty if there are none.
std::string untrained_notice(Index longest, const SourceInfo& source);

// Returns the set sizes that no row can have, because a set omits at least one key.
std::vector<int> sizes_beyond(const std::vector<int>& top_n, Index longest);

// Writes the `settings` of a scan for results.json; the options must be those of its plan.
void write_settings(const ScanOptions& options, Results& results);

}  // namespace headgauge
