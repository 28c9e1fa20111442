// Whether two things are shown to be the same within a margin: two one-sided tests (Schuirmann,
// J. Pharmacokinetics and Biopharmaceutics 15, 1987). That a test of a difference does not reject
// shows nothing of the kind.
#pragma once

#include <span>

#include "statistics/inference.hpp"

namespace headgauge {

// How the two sides are tested: the mean by Student's t, or the center by Wilcoxon's signed ranks.
enum class PairedTest { student, wilcoxon };

struct Equivalence {
  double p = kUndefined;      // the larger of the two; the same within the margin where it is small
  double p_low = kUndefined;  // of the null that the truth is `low` or less
  double p_high = kUndefined;    // of the null that it is `high` or more
  double estimate = kUndefined;  // the mean, or the median under Wilcoxon's
  int values = 0;                // finite ones
};

// Whether the mean (or center) of independent values lies between `low` and `high`. Undefined with
// fewer than 2 values.
Equivalence equivalence_test(std::span<const double> values, double low, double high,
                             PairedTest test = PairedTest::student);

// Whether first / second lies between 1/(1 + margin) and 1 + margin: of the logarithms, so that it
// does not matter which of the two is called first, and the estimate is a ratio. Undefined unless
// all that is finite is above 0.
Equivalence relative_equivalence_test(std::span<const double> first, std::span<const double> second,
                                      double margin, PairedTest test = PairedTest::student);

}  // namespace headgauge
