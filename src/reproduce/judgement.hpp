// Shared parts of the claims' tests: whether a number is significantly inside a range, votes of
// heads, and the statistics that many claims have in common.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headgauge/results.hpp"
#include "reproduce/evidence.hpp"
#include "results/mean_of.hpp"
#include "statistics/inference.hpp"
#include "statistics/rank_correlation.hpp"

namespace headgauge {

// Inside: the whole interval is within [low, high]. Outside: no part of it is. Open: it overlaps
// the boundary or is undefined.
enum class Place { inside, outside, open };
Place place_of(const Interval& interval, double low, double high);
// Uses the 95 % interval of an estimate, by Student's t with its degrees of freedom.
Place place_of(const Estimate& estimate, double low, double high);

// Holds if inside, does not hold if outside, cannot tell if open.
Verdict verdict_of(Place place);
// Holds if all are inside, does not hold if one is outside; else cannot tell.
Verdict verdict_of(std::span<const Place> places);
// Returns the first verdict of which the condition is met; else cannot tell.
Verdict verdict_if(bool holds, bool does_not_hold);

// Returns the unweighted least-squares slope of log(y) on log(x), with the standard error from the
// residuals; nothing with fewer than 4 usable points.
std::optional<Estimate> power_of(std::span<const double> x, std::span<const double> y);

// The 95 % interval of the median of one value per head, by bootstrap over the heads, and the
// minimum number of heads for it.
Interval interval_of_median(const std::vector<double>& of_heads);
inline constexpr std::size_t kFewestOfMedian = 8;

// The number of heads that behave as claimed. A claim about heads holds for a model if `share` of
// them do. It does not hold if fewer would even if all undecided heads did.
struct HeadVotes {
  int yes = 0, no = 0, open = 0;
  void add(Place place);
  int judged() const { return yes + no; }
  int all() const { return yes + no + open; }
  Verdict verdict(double share) const;
};
inline constexpr int kFewestVotes = 4;

// Names `heads`, yes, no and open.
void name_votes(Evidence& found, const HeadVotes& votes);

// Judges whether the median of the finite values of heads is within [low, high]: `value`, low, high
// and heads. With fewer than kFewestOfMedian of them, cannot tell.
void judge_median(Evidence& found, const std::vector<double>& of_heads, double low, double high);

// Judges whether an estimate is within [low, high], by Student's t: `value`, low and high.
void judge_estimate(Evidence& found, const Estimate& estimate, double low, double high);

// Judges a claim that a correlation is above 0: `value`, low, high and pairs. The claim does not
// hold if the whole interval is below the threshold `weak`, which allows at most a weak dependence.
// It is not tested if there is no interval; the reason is then `few_pairs`.
void judge_correlation(Evidence& found, const RankCorrelation& correlation);

// Contexts and a head's value in each, from L = 32 on, the shortest length in the paper's figures.
// For a causal head these are disjoint position bins, at their mean number of keys, because means
// over all rows up to L overlap. A head that sees all keys has one pass per L.
struct Growth {
  std::vector<double> context, value;
};
Growth growth_of(const Results& results, const std::string& metric, const HeadName& head,
                 const Pick& size);

// Judges the votes of heads without a window on the exponent of a metric in the context: is it
// within [low, high]? Returns the exponents; names exponent_median, exponent_least, exponent_most,
// `below` and `above` (the heads whose exponents surely are), and the votes. Without an exponent,
// the claim is not tested, for the reason `points`.
std::vector<Estimate> judge_powers(Evidence& found, const std::string& metric, const Pick& size,
                                   double low, double high);

// Compares the measured rates of an experiment with those that paper B predicts.

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
