// Plans of the same size that need no search, as baselines.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/space.hpp"

namespace headgauge {

// Gives every head 4 sinks and the same window, together the share of the context
// (StreamingLLM; Xiao et al. 2023).
PerHead<HeadPlan> equal_windows(const PlanSpace& space, double share);

// Keeps the heaviest keys of every query, as many as the share allows. An oracle: a decoder would
// have to hold all keys to find them.
PerHead<HeadPlan> heaviest_keys(const PlanSpace& space, double share);

// Assigns the entries of a plan to other heads at random, one assignment per `draw`. Entries move
// only among layers whose heads see equally many keys, so the plan's share stays the same.
PerHead<HeadPlan> dealt(const PlanSpace& space, const PerHead<HeadPlan>& plan, std::uint64_t seed,
                        std::uint32_t draw);

}  // namespace headgauge
