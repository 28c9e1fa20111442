// The search for plans by their joint loss (docs/mathematics.md 7e). Effects of single heads do
// not add up, so that every move is measured where it is made.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "plan/joint_change.hpp"
#include "plan/space.hpp"

namespace headgauge {

// Choices on the way of a search, and what they cost.
struct SearchPoint {
  Choices choices;
  double share = 1;   // of the cache
  double change = 0;  // of the joint loss on the texts of the search
};

// What every group alone, or last measured where the search was, adds to the loss by a choice;
// by group and choice.
using Effects = std::vector<std::vector<double>>;

class PlanSearch {
 public:
  using Tick = std::function<void(const SearchPoint&)>;
  PlanSearch(const PlanSpace& space, JointChange& loss, Tick tick)
      : space_(space), loss_(loss), tick_(std::move(tick)) {}

  SearchPoint point(const Choices& choices);
  // Every group alone under every choice that `wanted` (if any) names, by document.
  std::vector<std::vector<ByDocument>> alone(std::span<const HeadGroup> groups,
                                             const std::vector<std::vector<bool>>& wanted);

  // From full attention, move by move to fewer keys until the share is `least`: each time the few
  // moves that promise the smallest rise a key, by what was measured last, are measured, and the
  // best is made. Begins with `from`.
  std::vector<SearchPoint> shrink(const Choices& from, std::span<const HeadGroup> groups,
                                  Effects effects, double least);
  // The other way round, until the share would pass `most`: the largest fall a key.
  std::vector<SearchPoint> grow(const Choices& from, std::span<const HeadGroup> groups,
                                Effects effects, double most);
  // Any choice, whatever it keeps, until none of the moves measured lowers the loss.
  std::vector<SearchPoint> lower(const Choices& from, std::span<const HeadGroup> groups,
                                 Effects effects);
  // From a plan of at most `share`: measures the next larger and the next smaller choice of every
  // group, and makes the moves, several at once or one for another, that lower the loss within the
  // share; again until nothing does, or `rounds` times.
  SearchPoint exchange(SearchPoint from, std::span<const HeadGroup> groups, double share,
                       int rounds);

 private:
  struct Move {
    std::size_t group = 0;
    int choice = 0;
    double change = 0;  // of the loss
    double share = 0;   // of the share
  };
  // What a path looks at of a move that promises something: nothing if it is no move of it, else
  // the smaller the sooner it is measured.
  using Rank = std::function<std::optional<double>(const Move&)>;
  std::vector<SearchPoint> walk(const Choices& from, std::span<const HeadGroup> groups,
                                Effects effects, const Rank& rank,
                                const std::function<bool(const SearchPoint&)>& done);
  // The moves from `at` that are measured next, one of a group, best first.
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
