// Resolves what a comparison will do.
#pragma once

#include <span>

#include "headgauge/compare.hpp"
#include "scan/resolved_scan.hpp"

namespace headgauge {

// Returns the dimension of the interventions in the results: "normalizer" or "pattern".
const char* dimension_of(std::span<const Intervention> interventions);

// Returns how many tokens a comparison keeps for each change: what the options say or, absent, the
// default; 0 where there are no losses to keep.
int kept_tokens(const CompareOptions& options, const SourceInfo& source);

// Returns the plan of the scan of the original and of every intervention. Layers and heads choose
// what is changed; all heads are measured, because later layers change too. Throws UsageError if
// there is no intervention, or if the options ask for a scan of a model that is already changed.
ResolvedScan resolve_comparison(const CompareOptions& options,
                                std::span<const Intervention> interventions,
                                const SourceInfo& source);

}  // namespace headgauge
