// Plans that need no search: rivals of the plan that is searched, and starts of the search.
#pragma once

#include <optional>
#include <vector>

#include "plan/converge_budgets.hpp"
#include "plan/finder.hpp"

namespace headgauge {

class Starts {
 public:
  // `budgets`: null if the model gives none.
  Starts(const PlanSpace& space, JointChange& loss, const ConvergeBudgets* budgets)
      : space_(space), loss_(loss), budgets_(budgets) {}

  // Returns equal windows, the best pyramid, and converge()'s budgets.
  std::vector<FoundPlan> rivals_within(double share);
  // Returns the choices of the space that such plans have: one pattern for every head, and
  // converge()'s budgets, rounded down.
  struct Start {
    Choices choices;
    std::string name;
  };
  std::vector<Start> choices_within(double share);
  // Returns the pyramid whose slope has the lowest cost on the search documents.
  PerHead<HeadPlan> best_pyramid(double share);
  // Returns converge()'s budgets with or without sinks, whichever has the lower cost on the search
  // documents; empty if there are none.
  PerHead<HeadPlan> budgets_within(double share);

 private:
  PerHead<HeadPlan> better_of(std::vector<PerHead<HeadPlan>> plans);
  std::optional<int> equal_choice(double share) const;
  std::optional<Choices> rounded(const PerHead<HeadPlan>& budgets) const;

  const PlanSpace& space_;
  JointChange& loss_;
  const ConvergeBudgets* budgets_;
};

}  // namespace headgauge
