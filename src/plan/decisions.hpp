// Statistical decisions from losses by document (docs/mathematics.md 7e, 7f).
#pragma once

#include <cstddef>
#include <span>

#include "plan/joint_change.hpp"

namespace headgauge {

inline constexpr double kShown = 0.05;

// Returns how many leading changes are shown to be below `rise`, by one-sided t-tests at 5 %.
// Because the order is fixed before measuring and testing stops at the first failure, the chance of
// including a change that is truly at least `rise` is at most 5 % without correction.
std::size_t shown_below(std::span<const ByDocument> changes, double rise);

// Returns the p-value of the plan's rank under the null hypothesis that it does not matter which
// head gets which entry: the share of dealt plans and the plan itself whose cost is at most the
// plan's.
double dealt_p(double cost, std::span<const double> costs_of_dealt);

// The largest allowed rises in nats.
struct Allowances {
  double text = 0, replay = 0, answers = 0;
};

// Returns whether the rise of the loss of text, that of the replay, and that of the answers of
// each task are all shown to be below what is allowed, each by a one-sided t-test at 5 %. Because
// all of them must pass, the error rate of the whole is at most that of one test.
bool stays_below(const Judged& change, const Allowances& allowed);

}  // namespace headgauge
