// Searches for plans by their joint loss (docs/mathematics.md 7e). Effects of single heads do not
// add up, so every move is measured from the plan it starts at.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plan/joint_change.hpp"
#include "plan/space.hpp"

namespace headgauge {

// A point on a search path, and its cost.
struct SearchPoint {
  Choices choices;
  double share = 1;   // of the cache
  double change = 0;  // cost() of the plan on the search documents
};

// The effect of each group's choices on the loss, by group and choice: measured alone, or last
// measured during the search.
using Effects = std::vector<std::vector<double>>;

class PlanSearch {
 public:
  using Tick = std::function<void(const SearchPoint&)>;
  PlanSearch(const PlanSpace& space, JointChange& loss, Tick tick)
      : space_(space), loss_(loss), tick_(std::move(tick)) {}

  SearchPoint point(const Choices& choices);
  // Measures every group alone under every choice marked in `wanted` (all if empty), by document.
  std::vector<std::vector<Judged>> alone(std::span<const HeadGroup> groups,
                                         const std::vector<std::vector<bool>>& wanted);

  // Moves from `from` to fewer keys until the share is `least`. In each step it measures the few
  // moves with the smallest expected rise per key and makes the best. The path begins with `from`.
  std::vector<SearchPoint> shrink(const Choices& from, std::span<const HeadGroup> groups,
                                  Effects effects, double least);
  // Moves to more keys until the share would exceed `most`, by the largest fall per key.
  std::vector<SearchPoint> grow(const Choices& from, std::span<const HeadGroup> groups,
                                Effects effects, double most);
  // Improves a plan of at most `share`. Measures the next larger and next smaller choice of every
  // group, and makes moves that lower the loss within the share, several at once or in exchanging
  // pairs. Repeats until nothing improves, or `rounds` times.
  SearchPoint exchange(SearchPoint from, std::span<const HeadGroup> groups, double share,
                       int rounds);

 private:
  struct Move {
    std::size_t group = 0;
    int choice = 0;
    double change = 0;  // change of the loss
    double share = 0;   // change of the share
  };
  // Ranks the possible moves of a path: moves with smaller values are measured first; nothing
  // excludes the move.
  using Rank = std::function<std::optional<double>(const Move&)>;
  std::vector<SearchPoint> walk(const Choices& from, std::span<const HeadGroup> groups,
                                Effects effects, const Rank& rank,
                                const std::function<bool(const SearchPoint&)>& done);
  // Returns the moves from `at` to measure next, one per group, best first.
  std::vector<Move> promising(const Choices& at, std::span<const HeadGroup> groups,
                              const Effects& effects, const Rank& rank) const;
  void measure(const SearchPoint& at, std::span<const HeadGroup> groups, std::vector<Move>& moves);
  std::vector<Move> neighbours(const SearchPoint& at, std::span<const HeadGroup> groups);
  int choice_of(const Choices& at, const HeadGroup& group) const {
    return at(group.layer, group.heads.front());
  }

  const PlanSpace& space_;
  JointChange& loss_;
  Tick tick_;
};

}  // namespace headgauge
