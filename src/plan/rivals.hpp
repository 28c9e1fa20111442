// Plans of the same size that take no search: what a plan must beat.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/space.hpp"

namespace headgauge {

// The last keys of one head alone, or behind 4 sinks, `keys` in all; as it is where that is all
// that a head of the layer sees.
HeadPlan recent_keys(const PlanSpace& space, int layer, Index keys, bool sinks);

// The same window on every head, as many keys as the share of the context allows: the last ones
// alone, or behind 4 sinks (StreamingLLM; Xiao et al. 2023).
PerHead<HeadPlan> equal_windows(const PlanSpace& space, double share, bool sinks);

// Budgets that fall, or rise where `slope` is negative, evenly from layer to layer (PyramidKV; Cai
// et al. 2024): in proportion to 1 + slope in the first and 1 - slope in the last, with 4 sinks.
// What a layer cannot use, its heads seeing fewer keys, goes to the others.
PerHead<HeadPlan> pyramid(const PlanSpace& space, double share, double slope);

// The heaviest keys of every query, as many as the share allows: an oracle, since a decoder would
// have to hold all keys to find them.
PerHead<HeadPlan> heaviest_keys(const PlanSpace& space, double share);

// The entries of a plan dealt to other heads at random, draw by draw: among layers whose heads see
// as many keys, so that the plan's share stays what it is.
PerHead<HeadPlan> dealt(const PlanSpace& space, const PerHead<HeadPlan>& plan, std::uint64_t seed,
                        std::uint32_t draw);

}  // namespace headgauge
