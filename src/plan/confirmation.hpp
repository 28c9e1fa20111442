// A plan beside others of its size, on the texts that are looked at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plan/made.hpp"
#include "plan/paths.hpp"

namespace headgauge {

// Losses that confirm() measures for a plan.
double confirmed_losses(int random_plans);

// Fills in BudgetResult::methods and ::draws. `tick` is called before each loss, with its name.
void confirm_budget(BudgetResult& budget, const PlanSpace& space, Paths& paths, JointChange& loss,
                    int random_plans, std::uint64_t seed,
                    const std::function<void(const std::string&)>& tick);

}  // namespace headgauge
