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
// head gets which entry: the share of `dealt` plans and the plan itself whose loss is at most the
// plan's.
double dealt_p(const ByDocument& own, std::span<const ByDocument> dealt);

}  // namespace headgauge
