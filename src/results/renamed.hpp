// Metrics whose name meant something else in older files.
#pragma once

#include "headgauge/results.hpp"

namespace headgauge {

// Until headgauge permuted weights, separability_null was that of random vectors, which is called
// separability_sphere now and came with separability_excess. A file with the first of these alone
// is of that time: gives its metrics, and what refers to them, the name that says what they are.
void rename_older_null(Results& results);

}  // namespace headgauge
