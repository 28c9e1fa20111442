// Where a search for a plan of some share begins, and what it finds from there.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/converge_budgets.hpp"
#include "plan/search.hpp"

namespace headgauge {

// A plan that may be taken, and what it was found from.
struct FoundPlan {
  PerHead<HeadPlan> plan;
  std::string start;
};

// The point of the lowest loss that fits into the share; null where none does.
const SearchPoint* best_within(const std::vector<SearchPoint>& points, double share);

class Paths {
 public:
  // `budgets`: null where the model gives none.
  Paths(const PlanSpace& space, JointChange& loss, PlanSearch& search,
        const ConvergeBudgets* budgets)
      : space_(space), loss_(loss), search_(search), budgets_(budgets) {}

  // Walks from full attention down to the share `least`, head by head and by whole layers, and from
  // the smallest choices up to `most`.
  void shrink(const Effects& effects, double least);
  void grow(const Effects& effects, double most);
  void shrink_layers(double least);
  // Adds to the layers' path moves that lower the loss, whatever they keep.
  void lower_layers();
  const std::vector<SearchPoint>& by_layer() const { return by_layer_; }
  // Every point of every path.
  std::vector<SearchPoint> all() const;

  // Plans that take no search: equal windows, the best pyramid, converge's budgets.
  std::vector<FoundPlan> rivals_within(double share);
  // These, points of the paths, and what exchanges find from the best of all.
  std::vector<FoundPlan> found_within(double share);
  // All that is found whatever it keeps, and every point of two walks of moves that lower the loss:
  // from full attention, and from the best point of the paths.
  std::vector<FoundPlan> lowest(const Effects& effects);
  // That of the slope that is best where the search looks.
  PerHead<HeadPlan> best_pyramid(double share);
  // Converge's, with sinks or without, whichever is better there. Empty where there are none.
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
