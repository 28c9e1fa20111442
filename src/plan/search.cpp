#include "plan/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace headgauge {
namespace {

constexpr std::size_t kMeasuredMoves = 5;  // moves measured per step, of which the best is made
constexpr std::size_t kExchanges = 4;      // pairs of moves tried per round

// Ranks moves: those that lower the loss first, largest fall first; then by the smallest rise per
// key saved.
double rise_a_key(double change, double saved) {
  return change <= 0 ? change - 1e6 : change / saved;
}

}  // namespace

SearchPoint PlanSearch::point(const Choices& choices) {
  return {choices, space_.share(choices), loss_.cost(loss_.change(space_.plan(choices)))};
}

std::vector<std::vector<Judged>> PlanSearch::alone(std::span<const HeadGroup> groups,
                                                   const std::vector<std::vector<bool>>& wanted) {
  const Choices full = space_.same(0);
  std::vector<std::vector<Judged>> found(groups.size());
  // One layer at a time, so that a stop loses little work.
  for (int layer = 0; layer < space_.layers(); ++layer) {
    std::vector<PerHead<HeadPlan>> variants;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].layer != layer) continue;
      for (int choice = 1; choice < space_.size(); ++choice) {
        if (!wanted.empty() && !wanted[g][static_cast<std::size_t>(choice)]) continue;
        variants.push_back(space_.plan(moved(full, groups[g], choice)));
      }
    }
    const auto changes = loss_.changes_near(space_.plan(full), variants);
    auto next = changes.begin();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (groups[g].layer != layer) continue;
      found[g].resize(static_cast<std::size_t>(space_.size()));
      for (int choice = 1; choice < space_.size(); ++choice) {
        if (!wanted.empty() && !wanted[g][static_cast<std::size_t>(choice)]) continue;
        found[g][static_cast<std::size_t>(choice)] = *next++;
      }
    }
    tick_({full, 1, 0});
  }
  return found;
}

std::vector<PlanSearch::Move> PlanSearch::promising(const Choices& at,
                                                    std::span<const HeadGroup> groups,
                                                    const Effects& effects,
                                                    const Rank& rank) const {
  std::vector<std::pair<double, Move>> ranked;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const int now = choice_of(at, groups[g]);
    std::optional<std::pair<double, Move>> best;
    for (int choice = 0; choice < space_.size(); ++choice) {
      if (choice == now) continue;
      const Move move{g, choice, effects[g][choice] - effects[g][now],
                      space_.share_change(at, groups[g], choice)};
      const auto value = rank(move);
      if (value && (!best || *value < best->first)) best = {*value, move};
    }
    if (best) ranked.push_back(*best);
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& pair) { return pair.first; });
  ranked.resize(std::min(ranked.size(), kMeasuredMoves));
  std::vector<Move> moves;
  for (const auto& [value, move] : ranked) moves.push_back(move);
  return moves;
}

void PlanSearch::measure(const SearchPoint& at, std::span<const HeadGroup> groups,
                         std::vector<Move>& moves) {
  std::vector<PerHead<HeadPlan>> variants;
  for (const Move& move : moves) {
    variants.push_back(space_.plan(moved(at.choices, groups[move.group], move.choice)));
  }
  const auto changes = loss_.changes_near(space_.plan(at.choices), variants);
  for (std::size_t m = 0; m < moves.size(); ++m)
    moves[m].change = loss_.cost(changes[m]) - at.change;
}

std::vector<SearchPoint> PlanSearch::walk(const Choices& from, std::span<const HeadGroup> groups,
                                          Effects effects, const Rank& rank,
                                          const std::function<bool(const SearchPoint&)>& done) {
  std::vector<SearchPoint> path = {point(from)};
  while (!done(path.back())) {
    const SearchPoint& at = path.back();
    std::vector<Move> moves = promising(at.choices, groups, effects, rank);
    if (moves.empty()) break;
    measure(at, groups, moves);
    const Move* best = nullptr;
    double best_rank = std::numeric_limits<double>::infinity();
    for (const Move& move : moves) {
      effects[move.group][move.choice] =
          effects[move.group][choice_of(at.choices, groups[move.group])] + move.change;
      const auto value = rank(move);
      if (!value || *value >= best_rank) continue;
      best = &move;
      best_rank = *value;
    }
    if (best == nullptr) break;
    SearchPoint next{moved(at.choices, groups[best->group], best->choice), at.share + best->share,
                     at.change + best->change};
    next.share = space_.share(next.choices);
    tick_(next);
    path.push_back(std::move(next));
  }
  return path;
}

std::vector<SearchPoint> PlanSearch::shrink(const Choices& from, std::span<const HeadGroup> groups,
                                            Effects effects, double least) {
  return walk(
      from, groups, std::move(effects),
      [](const Move& move) -> std::optional<double> {
        if (!(move.share < 0) || std::isnan(move.change)) return std::nullopt;
        return rise_a_key(move.change, -move.share);
      },
      [=](const SearchPoint& at) { return at.share <= least; });
}

std::vector<SearchPoint> PlanSearch::grow(const Choices& from, std::span<const HeadGroup> groups,
                                          Effects effects, double most) {
  return walk(
      from, groups, std::move(effects),
      [](const Move& move) -> std::optional<double> {
        if (!(move.share > 0) || std::isnan(move.change)) return std::nullopt;
        return move.change / move.share;
      },
      [=](const SearchPoint& at) { return at.share >= most; });
}

std::vector<PlanSearch::Move> PlanSearch::neighbours(const SearchPoint& at,
                                                     std::span<const HeadGroup> groups) {
  std::vector<Move> moves;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    // The next larger and the next smaller choice.
    std::optional<Move> larger, smaller;
    for (int choice = 0; choice < space_.size(); ++choice) {
      const Move move{g, choice, 0, space_.share_change(at.choices, groups[g], choice)};
      if (move.share > 0 && (!larger || move.share < larger->share)) larger = move;
      if (move.share < 0 && (!smaller || move.share > smaller->share)) smaller = move;
    }
    if (larger) moves.push_back(*larger);
    if (smaller) moves.push_back(*smaller);
  }
  measure(at, groups, moves);
  return moves;
}

SearchPoint PlanSearch::exchange(SearchPoint at, std::span<const HeadGroup> groups, double share,
                                 int rounds) {
  const auto fits = [&](double change) { return at.share + change <= share + 1e-12; };
  for (int round = 0; round < rounds; ++round) {
    std::vector<Move> moves = neighbours(at, groups);
    std::ranges::stable_sort(moves, {}, &Move::change);
    std::vector<Choices> tried;
    // Tries 1, 2, 4, ... of the best moves that lower the loss together, at most one per group.
    Choices together = at.choices;
    double added = 0;
    std::vector<std::size_t> used;
    for (const Move& move : moves) {
      if (!(move.change < 0)) break;
      if (std::ranges::count(used, move.group) > 0 || !fits(added + move.share)) continue;
      together = moved(together, groups[move.group], move.choice);
      added += move.share;
      used.push_back(move.group);
      if ((used.size() & (used.size() - 1)) == 0) tried.push_back(together);
    }
    // Tries pairs in which one head gets more keys and another fewer.
    std::vector<std::pair<double, Choices>> pairs;
    for (const Move& larger : moves) {
      if (!(larger.share > 0 && larger.change < 0) || fits(larger.share)) continue;
      for (const Move& smaller : moves) {
        if (!(smaller.share < 0) || smaller.group == larger.group) continue;
        if (!fits(larger.share + smaller.share) || larger.change + smaller.change >= 0) continue;
        pairs.emplace_back(larger.change + smaller.change,
                           moved(moved(at.choices, groups[larger.group], larger.choice),
                                 groups[smaller.group], smaller.choice));
      }
    }
    std::ranges::stable_sort(pairs, {}, [](const auto& pair) { return pair.first; });
    for (std::size_t p = 0; p < std::min(pairs.size(), kExchanges); ++p) {
      tried.push_back(pairs[p].second);
    }
    SearchPoint best = at;
    for (const Choices& choices : tried) {
      SearchPoint next = point(choices);
      if (next.change < best.change) best = std::move(next);
    }
    if (!(best.change < at.change)) break;
    at = std::move(best);
    tick_(at);
  }
  return at;
}

}  // namespace headgauge
