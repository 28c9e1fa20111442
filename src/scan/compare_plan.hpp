// What a comparison is going to do, worked out once.
#pragma once

#include <span>

#include "headgauge/compare.hpp"
#include "scan/scan_plan.hpp"

namespace headgauge {

// The dimension along which the results have the interventions: "normalizer" or "pattern".
const char* dimension_of(std::span<const Intervention> interventions);

// The scan that is made of the original and under every intervention. Layers and heads choose what
// is changed; all are measured, for what comes later changes too. Throws UsageError where there is
// no intervention, or the options ask for a scan of a model that is changed already.
ScanPlan plan_comparison(const CompareOptions& options, std::span<const Intervention> interventions,
                         const SourceInfo& source);

}  // namespace headgauge
