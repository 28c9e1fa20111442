// scan() with what compare adds to it.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/scan.hpp"

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

struct ScanExtras {
  std::vector<std::unique_ptr<Measure>> measures;  // beside those of the options
  bool alone = false;                              // nothing but these measures
  std::function<void(const HeadInput&)> observe;   // sees every measured head once
  bool loss = true;            // the loss, where the options ask for it; else the pass alone
  ScanTables* kept = nullptr;  // where the statistics go in the end
  // The source begins at `first_layer`; what comes before is as it was in this scan of all layers.
  int first_layer = 0;
  const ScanTables* before = nullptr;
};

// At all lengths in one pass: for sources that are not causal, the one length that they are cut to.
Results scan_with(HeadSource& source, const ScanOptions& options, ScanExtras extras,
                  Progress* progress, const std::stop_token& stop);

// The rule of that name, for the heads of this source; UsageError where it is one for causal heads
// and they are not.
std::unique_ptr<Normalizer> make_rule(const std::string& spec, const SourceInfo& source);

// Fills in every default and checks what can be checked before work begins.
ScanOptions resolve_options(ScanOptions options, const SourceInfo& source);

}  // namespace headgauge
