// Shared parts of the claims' tests: whether a number is significantly inside a range, and votes of
// heads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/results.hpp"
#include "results/mean_of.hpp"
#include "statistics/inference.hpp"

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
// Judges a claim that a correlation is above 0, by its interval. The claim does not hold if the
// whole interval is below `weak`, which allows at most a weak dependence.
Verdict verdict_of_correlation(const Interval& interval, double weak);

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

// Returns a claim that is not tested, with the reason.
Claim not_tested(std::string why);
// Returns the reason: no head has enough points for an exponent of a metric of this group.
std::string too_few_points(std::string_view group);
inline constexpr const char* kNoDistance =
    "No distance and bound were measured: scan with ScanOptions::measures = distance.";

// Formats a number with 3 significant digits.
std::string shown(double value);

}  // namespace headgauge
