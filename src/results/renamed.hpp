// Metrics whose name meant something else in older files.
#pragma once

#include "headgauge/results.hpp"

namespace headgauge {

// Gives the metrics of older files, and what refers to them, the names that say what they are.
//
// Until headgauge permuted weights, separability_null was that of random vectors, which is called
// separability_sphere now and came with separability_excess: a file with the first of these alone
// is of that time. Until it tested heads in pairs, critical_n was paper A's, critical_n_paper now,
// and there was critical_ks_p but no closest_n; critical_n_head and the fractions of both came from
// tests that are gone, and are left out with a notice.
void rename_older_metrics(Results& results);

}  // namespace headgauge
