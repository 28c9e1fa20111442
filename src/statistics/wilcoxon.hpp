// Wilcoxon's signed-rank test (Biometrics Bulletin 1, 1945). It uses the ranks of the differences,
// so that a single head with a huge change has little influence.
//
// It assumes that the differences are independent and, under the null hypothesis, symmetric.
#pragma once

#include <span>

#include "statistics/inference.hpp"

namespace headgauge {

// Largest number of differences for which the distribution is enumerated.
inline constexpr int kExactSignedRanks = 50;

struct WilcoxonTest {
  double statistic = kUndefined;  // sum of the ranks of the differences above the null
  double p = kUndefined;
  int differences = 0;  // number of differences other than 0
  bool exact = true;
};

// Equal differences share the mean of their ranks. The enumeration covers all signs of these
// midranks, so it is exact with ties too. Beyond kExactSignedRanks differences it uses the normal
// approximation with corrections for ties and continuity. Undefined if all differences are 0.
WilcoxonTest wilcoxon_test(std::span<const double> values, double null = 0, Tail tail = Tail::both);

}  // namespace headgauge
