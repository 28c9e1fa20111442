// Starting points of the search for a plan of some share, and the plans found from them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/converge_budgets.hpp"
#include "plan/search.hpp"

namespace headgauge {

// A candidate plan, and the start it was found from.
struct FoundPlan {
  PerHead<HeadPlan> plan;
  std::string start;
};

// Returns the point with the lowest loss that fits into the share; null if none does.
const SearchPoint* best_within(const std::vector<SearchPoint>& points, double share);

class Paths {
 public:
  // `budgets`: null if the model gives none.
  Paths(const PlanSpace& space, JointChange& loss, PlanSearch& search,
        const ConvergeBudgets* budgets)
      : space_(space), loss_(loss), search_(search), budgets_(budgets) {}

  // Walk from full attention down to the share `least` (by head and by whole layers), and from the
  // smallest choices up to `most`.
  void shrink(const Effects& effects, double least);
  void grow(const Effects& effects, double most);
  void shrink_layers(double least);
  // Adds moves to the layers' path that lower the loss, regardless of the keys kept.
  void lower_layers();
  const std::vector<SearchPoint>& by_layer() const { return by_layer_; }
  // Returns every point of every path.
  std::vector<SearchPoint> all() const;

  // Returns plans that need no search: equal windows, the best pyramid, converge()'s budgets.
  std::vector<FoundPlan> rivals_within(double share);
  // Returns these, the points of the paths, and the result of exchanges from the best of them.
  std::vector<FoundPlan> found_within(double share);
  // Returns all found plans of any size, and every point of two walks of moves that lower the loss:
  // from full attention, and from the best point of the paths.
  std::vector<FoundPlan> lowest(const Effects& effects);
  // Returns the pyramid whose slope has the lowest loss on the search texts.
  PerHead<HeadPlan> best_pyramid(double share);
  // Returns converge()'s budgets with or without sinks, whichever has the lower loss on the search
  // texts; empty if there are none.
  PerHead<HeadPlan> budgets_within(double share);

 private:
  PerHead<HeadPlan> better_of(std::vector<PerHead<HeadPlan>> plans);
  std::optional<int> equal_choice(double share) const;
  Effects layer_effects();
  std::optional<Choices> rounded(const PerHead<HeadPlan>& budgets) const;

  const PlanSpace& space_;
  JointChange& loss_;
  PlanSearch& search_;
  const ConvergeBudgets* budgets_;
  std::vector<SearchPoint> shrunk_, grown_, by_layer_;
};

}  // namespace headgauge
