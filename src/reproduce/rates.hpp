// Compares the measured rates of an experiment with those that paper B predicts.
#pragma once

#include <string>
#include <string_view>

#include "headgauge/results.hpp"

namespace headgauge {

inline constexpr double kRateLevel = 0.05;  // level of the test of each rate
// Level of several tests that must all pass: the probability that together they refute a true
// claim.
inline constexpr double kFamilyLevel = 0.01;

// The rates of one kind of error, over all scales or heads whose rate has a standard error.
struct Rates {
  double margin = 0;
  int fitted = 0;
  int slower = 0;  // significantly below the prediction, tested together (Benjamini and Hochberg)
  int fast_enough = 0;
  double least_margin = kUndefined;  // rate minus prediction, in standard errors
  double slowest = kUndefined, fastest = kUndefined;

  // Does not hold if any rate is slower; holds if a share of at least `share` is fast enough.
  Verdict verdict(double share) const;
};

// Compares the metrics EXPERIMENT_rate_KIND and EXPERIMENT_rate_predicted. A rate is fast enough if
// it is significantly above its prediction less `margin`. With a `proxy` the prediction is that of
// the horizon times it.
Rates rates_of(const Results& results, const std::string& experiment, const std::string& kind,
               double margin, double proxy = 1);

// Returns the degrees of freedom of the fit behind a cell, from its points (`rows`). If the file
// lacks them, returns infinity, so that the standard error counts as known.
double freedom_of_fit(const LabelledArray& metric, std::size_t offset, double parameters);

// Describes the rates in words.
std::string said_of(const Rates& rates, const std::string& kind);
void add_facts(const Rates& rates, const std::string& kind, Claim& claim);

// Judges a claim on the rates of both the mean and the covariance. It holds if both hold and does
// not hold if either does not. Sets the verdict, the measurements and the facts. With fewer than
// `fewest` rates of either, marks the claim as not tested and returns false. `what` names their
// owners: heads or scales.
bool judge_both(const Rates& mean, const Rates& covariance, int fewest, double share,
                std::string_view what, Claim& claim);

// Returns the reason why a claim is not tested if its experiment was not run.
std::string not_measured(const std::string& experiment);

}  // namespace headgauge
