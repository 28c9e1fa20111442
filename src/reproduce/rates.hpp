// Compares the measured rates of an experiment with those that paper B predicts.
#pragma once

#include <string>

#include "headgauge/results.hpp"
#include "reproduce/evidence.hpp"

namespace headgauge {

inline constexpr double kRateLevel = 0.05;  // level of the test of each rate
// Level of several tests that must all pass: the probability that together they refute a true
// claim.
inline constexpr double kFamilyLevel = 0.01;
inline constexpr int kFewestScales = 4;

// Returns the degrees of freedom of the fit behind a cell, from its points (`rows`). If the file
// lacks them, returns infinity, so that the standard error counts as known.
double freedom_of_fit(const LabelledArray& metric, std::size_t offset, double parameters);

// The rates of one kind of error, over all scales or heads whose rate has a standard error.
struct Rates {
  int fitted = 0;
  Verdict verdict = Verdict::cannot_tell;
};

// Compares the metrics EXPERIMENT_rate_KIND and EXPERIMENT_rate_predicted, and names KIND_fitted
// and others, also as EXPERIMENT_KIND_fitted or EXPERIMENT_proxy_KIND_fitted. Does not hold if any
// rate is significantly below its prediction (tested together, Benjamini and Hochberg). Holds if a
// share of at least `share` is significantly above it less the threshold `tolerance`. With a
// `proxy` the prediction is that of the horizon times it.
Rates compare_rates(Evidence& found, const std::string& experiment, const std::string& kind,
                    double share = 1, double proxy = 1);

// Judges a claim on the rates of both the mean and the covariance. It holds if both hold and does
// not hold if either does not. With fewer than `fewest` rates of either, it is not tested, for the
// reason `rates`.
void judge_rates(Evidence& found, const std::string& experiment, int fewest, double share = 1,
                 double proxy = 1);

}  // namespace headgauge
