// scan() as used by compare() and converge().
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "scan/resolved_scan.hpp"

namespace headgauge {

class CellLayout;
class LayerTable;
class MeasuredRows;

// The statistics of a scan layer by layer, and the objects they refer to.
struct ScanTables {
  ScanTables();
  ScanTables(ScanTables&&) noexcept;
  ScanTables& operator=(ScanTables&&) noexcept;
  ~ScanTables();
  std::vector<std::unique_ptr<Measure>> measures;
  std::unique_ptr<CellLayout> layout;
  std::unique_ptr<MeasuredRows> plan;
  std::vector<std::unique_ptr<LayerTable>> layers;
};

// The role of a scan in a larger command.
struct ScanPart {
  bool loss = true;  // computes the loss if the options ask for it; otherwise only runs the pass
  ScanTables* kept = nullptr;  // receives the final statistics
  // The source begins at `first_layer`; earlier layers are unchanged from this scan of all layers.
  int first_layer = 0;
  const ScanTables* before = nullptr;
  // True if measures only look at the queries of the measured rows.
  bool only_rows = false;
  // True if only the end of a pass matters to the source, so that a resumed pass may begin in the
  // middle.
  bool begins_anywhere = false;
  // Returns whether the source will be used after a document's pass has ended; empty: for no
  // document. Such a pass runs to its end even if all its parts were found.
  std::function<bool(Index document)> reaches_end = {};
  // The stage of that use; a document whose pass fails earlier is recorded there.
  std::string end_stage = "predictions";
};

// Runs a scan at all lengths in one pass; for sources that are not causal, at the one length they
// are cut to.
Results run_scan(HeadSource& source, const ResolvedScan& plan, const ScanPart& part,
                 Progress* progress, const std::stop_token& stop);

}  // namespace headgauge
