// What is concluded from losses by document (docs/mathematics.md 7e, 7f).
#pragma once

#include <cstddef>
#include <span>

#include "plan/joint_change.hpp"

namespace headgauge {

inline constexpr double kShown = 0.05;

// How many of the changes, from the first one on, are shown to be below `rise`: one-sided t tests
// at 5 %. The order is fixed before anything is measured and the first test that fails ends it, so
// that the chance of going beyond the first whose true change is as large as `rise` is at most 5 %
// without a correction.
std::size_t shown_below(std::span<const ByDocument> changes, double rise);

// The share of the plan and the `dealt` ones that lose no more than it does: the p value of its
// rank if it did not matter which head got what.
double dealt_p(const ByDocument& own, std::span<const ByDocument> dealt);

}  // namespace headgauge
