// What a scan does, worked out from its options once and passed on.
#pragma once

#include <memory>
#include <string>

#include "headgauge/scan.hpp"

namespace headgauge {

struct ScanPlan {
  ScanOptions options;            // with every default filled in
  HeadIntervention intervention;  // of heads that have no normalizer of their own
  HeadSelection selection;

  Index longest() const { return options.lengths.back(); }
  // The same at one length.
  ScanPlan at_length(int length) const;
};

// Checks what can be checked before work begins; throws as scan() does.
ScanPlan plan_scan(const ScanOptions& options, const SourceInfo& source);

// The measures of the plan, those of its caller last.
std::vector<std::unique_ptr<Measure>> make_measures(const ScanPlan& plan, const SourceInfo& source,
                                                    int slots);

// Throws UsageError where the normalizer is one for causal heads and those of the source are not.
void require_causal(const Normalizer& normalizer, const std::string& spec,
                    const SourceInfo& source);

}  // namespace headgauge
