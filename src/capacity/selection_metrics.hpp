// The declarations of the metrics of groups distance, separability and cooperation.
#pragma once

#include <vector>

#include "capacity/selection_measure.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

std::vector<MetricInfo> selection_metrics(const MeasureOptions& options, SelectionGroups groups);

}  // namespace headgauge
