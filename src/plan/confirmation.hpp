// Compares a plan with others of the same size on the confirmation documents, which are used once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "plan/joint_change.hpp"
#include "plan/made.hpp"
#include "plan/space.hpp"

namespace headgauge {

// Plans of the same size that need no search are the baselines.

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

// Decisions are statistical, from losses by document (docs/mathematics.md 7e, 7f).

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

// Returns the number of losses that confirm_budget() measures for a plan.
double confirmed_losses(int random_plans);

// Fills in BudgetResult::methods and ::draws. Calls `tick` before each loss, with its name.
void confirm_budget(BudgetResult& budget, const PlanSpace& space, JointChange& loss,
                    int random_plans, std::uint64_t seed,
                    const std::function<void(const std::string&)>& tick);

}  // namespace headgauge
