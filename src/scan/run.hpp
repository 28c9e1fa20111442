// scan() with what compare adds to it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/scan.hpp"

namespace headgauge {

struct ScanExtras {
  std::vector<std::unique_ptr<Measure>> measures;          // beside those of the options
  std::vector<std::pair<std::string, Coordinate>> coords;  // of their dims
  bool alone = false;                                      // nothing but these measures
  bool loss = true;  // the loss, where the options ask for it; else the pass alone
};

Results scan_with(HeadSource& source, const ScanOptions& options, ScanExtras extras,
                  Progress* progress, const std::stop_token& stop);

// Fills in every default and checks what can be checked before work begins.
ScanOptions resolve_options(ScanOptions options, const SourceInfo& source);

}  // namespace headgauge
