// The declarations of the metrics of groups distance, separability and coverage.
#pragma once

#include <vector>

#include "headgauge/measure.hpp"
#include "measures/selection_measure.hpp"

namespace headgauge {

std::vector<MetricInfo> selection_metrics(const MeasureOptions& options, SelectionGroups groups);

}  // namespace headgauge
