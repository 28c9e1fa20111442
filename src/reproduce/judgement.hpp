// What the tests of claims share: when a number is inside a range for sure, and how heads vote.
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

// Inside where all of an interval is within [low, high], outside where nothing of it is, open where
// it sticks out or is undefined.
enum class Place { inside, outside, open };
Place place_of(const Interval& interval, double low, double high);
// Of the 95 % interval of an estimate, by Student's t with its degrees of freedom.
Place place_of(const Estimate& estimate, double low, double high);

// Holds inside, does not hold outside, cannot tell where it is open.
Verdict verdict_of(Place place);
// Of a claim that a correlation is above 0, by its interval: does not hold where all of it is below
// kWeakCorrelation, so that no more than a weak dependence is left.
inline constexpr double kWeakCorrelation = 0.3;
Verdict verdict_of_correlation(const Interval& interval);

// The slope of least squares of log(y) on log(x), unweighted, with the error that the scatter about
// the line gives; nothing with fewer than 4 usable points.
std::optional<Estimate> power_of(std::span<const double> x, std::span<const double> y);

// The 95 % interval of the median of one value a head, by bootstrap over the heads, and the fewest
// heads of which it means something.
Interval interval_of_median(const std::vector<double>& of_heads);
inline constexpr std::size_t kFewestOfMedian = 8;

// How many heads do as a claim says. A claim about heads holds of a model where three quarters of
// them do, and does not hold where fewer would even if all that their own test leaves open did.
struct HeadVotes {
  int yes = 0, no = 0, open = 0;
  void add(Place place);
  int judged() const { return yes + no; }
  int all() const { return yes + no + open; }
  Verdict verdict() const;
};
inline constexpr double kMostHeads = 0.75;
inline constexpr int kFewestVotes = 4;

// The same in words, for Claim::test.
extern const char* const kVotingRule;

// A claim before its test.
Claim claim_of(std::string paper, std::string name, std::string figure, std::string statement);
// A claim that was not tested, and why.
Claim not_tested(Claim claim, std::string why);
// Why: no head has enough points for an exponent of a metric of this group.
std::string too_few_points(std::string_view group);
inline constexpr const char* kNoDistance =
    "No distance and bound were measured: scan with ScanOptions::measures = distance.";

// The number as people read it: 3 significant digits.
std::string shown(double value);

}  // namespace headgauge
