// Plans of the same size that need no search, as baselines.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/space.hpp"

namespace headgauge {

// Returns a plan entry that keeps `keys` keys in total: the last keys alone, or with 4 sinks. Keeps
// the head unchanged if it sees no more keys.
HeadPlan recent_keys(const PlanSpace& space, int layer, Index keys, bool sinks);

// Gives every head the same window, with the share of the context as its size: the last keys alone,
// or with 4 sinks (StreamingLLM; Xiao et al. 2023).
PerHead<HeadPlan> equal_windows(const PlanSpace& space, double share, bool sinks);

// Budgets with 4 sinks that fall linearly from layer to layer, or rise if `slope` is negative
// (PyramidKV; Cai et al. 2024): proportional to 1 + slope in the first layer and 1 - slope in the
// last. Budget that a layer cannot use, because its heads see fewer keys, goes to the others.
PerHead<HeadPlan> pyramid(const PlanSpace& space, double share, double slope);

// Keeps the heaviest keys of every query, as many as the share allows. An oracle: a decoder would
// have to hold all keys to find them.
PerHead<HeadPlan> heaviest_keys(const PlanSpace& space, double share);

// Assigns the entries of a plan to other heads at random, one assignment per `draw`. Entries move
// only among layers whose heads see equally many keys, so the plan's share stays the same.
PerHead<HeadPlan> dealt(const PlanSpace& space, const PerHead<HeadPlan>& plan, std::uint64_t seed,
                        std::uint32_t draw);

}  // namespace headgauge
