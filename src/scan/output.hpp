// From the engine's tables to labelled arrays.
#pragma once

#include <span>

#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"
#include "scan/statistics.hpp"

namespace headgauge {

// The layers and heads that were measured, in ascending order.
struct Measured {
  std::vector<int> layers;
  std::vector<int> heads;
};

// Sets coords: layer, head, length, position, top_n, temperature, epsilon, and per head or layer
// kv_head, layer_type and window.
void write_coords(const Measured& measured, const RowPlan& plan, const MeasureOptions& options,
                  const SourceInfo& source, Results& results);

// Adds every row metric of the layout, and its _by_position twin where it has one.
void write_row_metrics(const Measured& measured, const CellLayout& layout,
                       const std::vector<const LayerTable*>& tables, const HeadSelection& selection,
                       Results& results);

// Removes every metric without a dim `layer` and returns their names: from some of the layers they
// would be wrong, not just incomplete.
std::vector<std::string> drop_whole_model_metrics(Results& results);

// A sentence for each document that is too short for some of the lengths. Results::text names them.
std::vector<std::string> short_document_notices(std::span<const int> lengths,
                                                const SourceInfo& source, const Results& results);

// Why SourceInfo::has_loss is false.
std::string why_no_loss(const SourceInfo& source);

// A sentence on lengths beyond those that the model was trained on; empty where there are none.
std::string untrained_notice(Index longest, const SourceInfo& source);

// The set sizes that no row can have, for a set leaves at least one key out.
std::vector<int> sizes_beyond(const std::vector<int>& top_n, Index longest);

// What `settings` of results.json says of a scan; the options are those of its plan.
void write_settings(const ScanOptions& options, Results& results);

}  // namespace headgauge
