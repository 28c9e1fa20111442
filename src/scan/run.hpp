// scan() as compare(), converge() and fit_interventions() use it.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "scan/scan_plan.hpp"

namespace headgauge {

class CellLayout;
class LayerTable;
class RowPlan;

// The statistics of a scan, layer by layer, and what they refer to.
struct ScanTables {
  ScanTables();
  ScanTables(ScanTables&&) noexcept;
  ScanTables& operator=(ScanTables&&) noexcept;
  ~ScanTables();
  std::vector<std::unique_ptr<Measure>> measures;
  std::unique_ptr<CellLayout> layout;
  std::unique_ptr<RowPlan> plan;
  std::vector<std::unique_ptr<LayerTable>> layers;
};

// How a scan takes part in a larger work.
struct ScanPart {
  bool loss = true;            // the loss, where the options ask for it; else the pass alone
  ScanTables* kept = nullptr;  // where the statistics go in the end
  // The source begins at `first_layer`; what comes before is as it was in this scan of all layers.
  int first_layer = 0;
  const ScanTables* before = nullptr;
  // No measure looks at other queries than those of the rows.
  bool only_rows = false;
  // The source needs nothing of a pass but its end: one that goes on may begin in the middle.
  bool begins_anywhere = false;
  // Whether the source is asked for more of a document when its pass has ended; empty: of none.
  // A pass of which all parts were found is run then, to get there.
  std::function<bool(Index document)> reaches_end = {};
  // The stage of what it is asked for then, where a document that gets no further is noted.
  std::string end_stage = "predictions";
};

// At all lengths in one pass: for sources that are not causal, the one length that they are cut to.
Results run_scan(HeadSource& source, const ScanPlan& plan, const ScanPart& part, Progress* progress,
                 const std::stop_token& stop);

}  // namespace headgauge
