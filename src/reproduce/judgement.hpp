// What the tests of claims share: when a number is inside a range for sure, and how heads vote.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// 2 standard errors either way, as everywhere in headgauge.
inline constexpr double kErrors = 2.0;

// Inside where all of value +- 2 standard errors is within [low, high], outside where nothing of it
// is, open where it sticks out. Without a standard error the value counts as exact.
enum class Place { inside, outside, open };
Place place_of(const Estimate& estimate, double low, double high);

// How many standard errors a value of `freedom` degrees of freedom is beyond with probability
// `level` by chance (Student's t, one-sided); of unknown freedom (0), a normal variable.
double beyond(double level, double freedom);

// Holds inside, does not hold outside, cannot tell where it is open.
Verdict verdict_of(Place place);

// The slope of least squares of log(y) on log(x), unweighted; nothing with fewer than 4 usable
// points.
std::optional<Estimate> power_of(std::span<const double> x, std::span<const double> y);

double median(std::vector<double> values);

// How many heads do as a claim says. A claim about heads holds of a model where three quarters of
// them do; heads that their own test leaves open have no vote, and where fewer than half of all, or
// fewer than 4, have one, it cannot be decided.
struct HeadVotes {
  int yes = 0, no = 0, open = 0;
  void add(Place place);
  int judged() const { return yes + no; }
  int all() const { return yes + no + open; }
  Verdict verdict() const;
};
inline constexpr double kMostHeads = 0.75;
inline constexpr int kFewestVotes = 4;

// "holds of a model where it holds of 3/4 of the heads ...", for Claim::test.
extern const char* const kVotingRule;

// A claim before its test.
Claim claim_of(std::string paper, std::string name, std::string figure, std::string statement);
// A claim that cannot be decided, and why.
Claim without_data(Claim claim, std::string why);

// The number as people read it: 3 significant digits.
std::string shown(double value);

}  // namespace headgauge
