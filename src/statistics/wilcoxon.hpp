// Wilcoxon's signed-rank test (Biometrics Bulletin 1, 1945), for differences of any size: one head
// that changes a hundredfold counts as one that changes most.
//
// It takes the differences as independent and, if nothing changed, symmetric about the null.
#pragma once

#include <span>

#include "statistics/inference.hpp"

namespace headgauge {

// Up to so many differences the distribution is enumerated.
inline constexpr int kExactSignedRanks = 50;

struct WilcoxonTest {
  double statistic = kUndefined;  // the sum of the ranks of the differences above the null
  double p = kUndefined;
  int differences = 0;  // that are not 0, which say nothing of a direction
  bool exact = true;
};

// Differences of one size have the mean of their ranks; the enumeration is over all signs of these
// midranks, so that it is exact with ties too. Beyond kExactSignedRanks differences it is the
// normal approximation with corrections for ties and continuity. Undefined where none differs.
WilcoxonTest wilcoxon_test(std::span<const double> values, double null = 0, Tail tail = Tail::both);

}  // namespace headgauge
