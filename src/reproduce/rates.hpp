// How the measured rates of an experiment stand to those that paper B predicts.
#pragma once

#include <string>
#include <string_view>

#include "headgauge/results.hpp"

namespace headgauge {

// A rate is fast enough where it is shown to be above its prediction less this.
inline constexpr double kRateMargin = 0.05;
inline constexpr double kRateLevel = 0.05;  // of what each rate must be shown at
// Of several tests that must all pass: together they refute a true claim with this probability.
inline constexpr double kFamilyLevel = 0.01;
// A predicted rate below asks for next to nothing.
inline constexpr double kDemanding = 0.01;

// Of one kind of error, over all scales or heads that have a rate with its error.
struct Rates {
  int fitted = 0;
  int slower = 0;  // significantly below the prediction, all tested together (Benjamini-Hochberg)
  int fast_enough = 0;
  int demanding = 0;                 // whose prediction is at least kDemanding
  double least_margin = kUndefined;  // rate less prediction, in standard errors
  double slowest = kUndefined, fastest = kUndefined;

  // Does not hold where any is slower; holds where `share` of all are fast enough.
  Verdict verdict(double share) const;
};

// Of the metrics EXPERIMENT_rate_KIND and EXPERIMENT_rate_predicted.
Rates rates_of(const Results& results, const std::string& experiment, const std::string& kind);

// Of the fit behind a cell, whose rows are its points; infinite, so that its error counts as known,
// where the file does not say how many it had.
double freedom_of_fit(const LabelledArray& metric, std::size_t offset, double parameters);

// What a claim says of them.
std::string said_of(const Rates& rates, const std::string& kind);
void add_facts(const Rates& rates, const std::string& kind, Claim& claim);

// A claim on the rates of both the mean and the covariance: holds where both do, does not hold
// where either does not. Sets the verdict, what was measured and the facts; not tested, which is
// returned as false, with fewer than `fewest` rates of either. `what` has them: heads, scales.
bool judge_both(const Rates& mean, const Rates& covariance, int fewest, double share,
                std::string_view what, Claim& claim);

// Why a claim on an experiment is not tested that was not run.
std::string not_measured(const std::string& experiment);

}  // namespace headgauge
