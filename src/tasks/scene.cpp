#include "tasks/scene.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace headgauge {
namespace {

using Group = std::vector<TokenIds>;

Index size_of(const Group& group) {
  return std::accumulate(group.begin(), group.end(), Index{0},
                         [](Index sum, const TokenIds& ids) { return sum + std::ssize(ids); });
}

Index size_of(const std::vector<Group>& groups) {
  return std::accumulate(groups.begin(), groups.end(), Index{0},
                         [](Index sum, const Group& group) { return sum + size_of(group); });
}

// A fact and whether the control has other tokens in its place.
struct Fact {
  TokenIds ids;
  bool left_out = false;
};

// Returns the facts of all groups, shuffled; the facts of a group keep their order.
std::vector<Fact> mixed(std::vector<std::pair<Group, bool>> groups, Draws& draws) {
  std::vector<Fact> facts;
  std::vector<std::size_t> turns;  // the group of each fact
  for (std::size_t g = 0; g < groups.size(); ++g)
    turns.insert(turns.end(), groups[g].first.size(), g);
  for (Index left = std::ssize(turns); left > 1; --left) {
    std::swap(turns[static_cast<std::size_t>(left - 1)],
              turns[static_cast<std::size_t>(draws.below(left))]);
  }
  std::vector<std::size_t> next(groups.size(), 0);
  for (const std::size_t g : turns) {
    facts.push_back({std::move(groups[g].first[next[g]++]), groups[g].second});
  }
  return facts;
}

// Writes the prompt and the control from their beginning.
class Composer {
 public:
  // The first `count` tokens of the haystack are for both, the others for the control.
  Composer(TaskCase& one, const Hay& hay, Index count) : one_(one), hay_(hay), replacement_(hay) {
    replacement_.take(count);
  }

  void add(const TokenIds& ids) {
    append(one_.prompt, ids);
    append(one_.control, ids);
  }
  // `more`: Place::more_control.
  void add_fact(const Fact& fact, Index more = 0) {
    append(one_.prompt, fact.ids);
    const Index count = std::max<Index>(std::ssize(fact.ids) + more, 0);
    append(one_.control, fact.left_out ? replacement_.take(count) : fact.ids);
  }
  void add_hay(Index count) {
    const std::span<const int> tokens = hay_.take(count);
    append(one_.prompt, tokens);
    append(one_.control, tokens);
  }
  // Spreads facts at random over `count` tokens of the haystack.
  void add_spread(const std::vector<Fact>& facts, Index count, Draws& draws) {
    std::vector<Index> cuts;
    for (std::size_t i = 0; i < facts.size(); ++i) cuts.push_back(draws.below(count + 1));
    std::ranges::sort(cuts);
    Index at = 0;
    for (std::size_t i = 0; i < facts.size(); ++i) {
      add_hay(cuts[i] - std::exchange(at, cuts[i]));
      add_fact(facts[i]);
    }
    add_hay(count - at);
  }

 private:
  TaskCase& one_;
  Hay hay_, replacement_;
};

Index fixed_size(const Scene& scene) {
  return std::ssize(scene.opening) + std::ssize(scene.asked) + size_of(scene.following) +
         size_of(scene.groups) + std::ssize(scene.question) + std::ssize(scene.answer);
}

// Haystack without which a group of distractors might fit on neither side.
Index least_hay(const Scene& scene) {
  Index most = 0;
  for (const Group& group : scene.groups) most = std::max(most, size_of(group));
  return std::max<Index>(most, 1);
}

}  // namespace

Index least_length(const Scene& scene) {
  return fixed_size(scene) + least_hay(scene);
}

TaskCase hide(const Scene& scene, Index length, const Haystack& haystack, const Place& place,
              Draws& draws) {
  const Index hay = std::max(length + place.more - fixed_size(scene), least_hay(scene));
  const Index replaced = std::ssize(scene.asked) + size_of(scene.following);
  const Index count = hay + replaced + std::max<Index>(place.more_control, 0);
  const Hay tokens =
      haystack.piece(count, length - fixed_size(scene) + replaced, place.number, draws);

  // Tokens of haystack and distractors that are to stand behind the fact, and before it.
  Index behind = place.between(0, hay + size_of(scene.groups));
  Index before = hay + size_of(scene.groups) - behind;
  std::vector<std::pair<Group, bool>> groups_before, groups_behind;
  groups_behind.emplace_back(scene.following, true);
  for (const Group& group : scene.groups) {
    const Index size = size_of(group);
    const bool drawn_behind = draws.below(behind + before) < behind;
    const bool is_behind = drawn_behind ? behind >= size : before < size;
    (is_behind ? behind : before) -= size;
    (is_behind ? groups_behind : groups_before).emplace_back(group, false);
  }

  TaskCase one;
  one.answer = scene.answer;
  one.source = scene.source;
  Composer composer(one, tokens, hay);
  composer.add(scene.opening);
  composer.add_spread(mixed(std::move(groups_before), draws), before, draws);
  const Index from = std::ssize(one.prompt) + scene.asked_from;
  composer.add_fact({scene.asked, true}, place.more_control);
  composer.add_spread(mixed(std::move(groups_behind), draws), behind, draws);
  composer.add(scene.question);
  one.distance = std::ssize(one.prompt) - from;
  return one;
}

}  // namespace headgauge
