// Compares a plan with others of the same size on the confirmation documents, which are used once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plan/made.hpp"
#include "plan/space.hpp"

namespace headgauge {

// Returns the number of losses that confirm_budget() measures for a plan.
double confirmed_losses(int random_plans);

// Fills in BudgetResult::methods and ::draws. Calls `tick` before each loss, with its name.
void confirm_budget(BudgetResult& budget, const PlanSpace& space, JointChange& loss,
                    int random_plans, std::uint64_t seed,
                    const std::function<void(const std::string&)>& tick);

}  // namespace headgauge
