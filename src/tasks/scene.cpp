#include "tasks/scene.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace headgauge {
namespace {

Index size_of(const std::vector<TokenIds>& facts) {
  return std::accumulate(facts.begin(), facts.end(), Index{0},
                         [](Index sum, const TokenIds& ids) { return sum + std::ssize(ids); });
}

std::vector<TokenIds> shuffled(std::vector<TokenIds> facts, Draws& draws) {
  for (Index left = std::ssize(facts); left > 1; --left) {
    std::swap(facts[static_cast<std::size_t>(left - 1)],
              facts[static_cast<std::size_t>(draws.below(left))]);
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
  // Adds the fact that is asked for; the control has `more` tokens beyond its size in its place.
  void add_asked(const TokenIds& fact, Index more) {
    append(one_.prompt, fact);
    append(one_.control, replacement_.take(std::max<Index>(std::ssize(fact) + more, 0)));
  }
  void add_hay(Index count) {
    const std::span<const int> tokens = hay_.take(count);
    append(one_.prompt, tokens);
    append(one_.control, tokens);
  }
  // Spreads facts at random over `count` tokens of the haystack.
  void add_spread(const std::vector<TokenIds>& facts, Index count, Draws& draws) {
    std::vector<Index> cuts;
    for (std::size_t i = 0; i < facts.size(); ++i) cuts.push_back(draws.below(count + 1));
    std::ranges::sort(cuts);
    Index at = 0;
    for (std::size_t i = 0; i < facts.size(); ++i) {
      add_hay(cuts[i] - std::exchange(at, cuts[i]));
      add(facts[i]);
    }
    add_hay(count - at);
  }

 private:
  TaskCase& one_;
  Hay hay_, replacement_;
};

Index fixed_size(const Scene& scene) {
  return std::ssize(scene.opening) + std::ssize(scene.asked) + size_of(scene.others) +
         std::ssize(scene.question) + std::ssize(scene.answer);
}

// Haystack without which one of the other facts might fit on neither side.
Index least_hay(const Scene& scene) {
  Index most = 1;
  for (const TokenIds& fact : scene.others) most = std::max(most, std::ssize(fact));
  return most;
}

}  // namespace

Index least_length(const Scene& scene) {
  return fixed_size(scene) + least_hay(scene);
}

TaskCase hide(const Scene& scene, Index length, const Haystack& haystack, const Place& place,
              Draws& draws) {
  const Index hay = std::max(length + place.more - fixed_size(scene), least_hay(scene));
  const Index replaced = std::ssize(scene.asked);
  const Index count = hay + replaced + std::max<Index>(place.more_control, 0);
  const Hay tokens =
      haystack.piece(count, length - fixed_size(scene) + replaced, place.number, draws);

  // Tokens of haystack and other facts that are to stand behind the fact, and before it.
  Index behind = place.between(0, hay + size_of(scene.others));
  Index before = hay + size_of(scene.others) - behind;
  std::vector<TokenIds> facts_before, facts_behind;
  for (const TokenIds& fact : scene.others) {
    const Index size = std::ssize(fact);
    const bool drawn_behind = draws.below(behind + before) < behind;
    const bool is_behind = drawn_behind ? behind >= size : before < size;
    (is_behind ? behind : before) -= size;
    (is_behind ? facts_behind : facts_before).push_back(fact);
  }

  TaskCase one;
  one.answer = scene.answer;
  one.source = scene.source;
  Composer composer(one, tokens, hay);
  composer.add(scene.opening);
  composer.add_spread(shuffled(std::move(facts_before), draws), before, draws);
  const Index from = std::ssize(one.prompt) + scene.asked_from;
  composer.add_asked(scene.asked, place.more_control);
  composer.add_spread(shuffled(std::move(facts_behind), draws), behind, draws);
  composer.add(scene.question);
  one.distance = std::ssize(one.prompt) - from;
  return one;
}

}  // namespace headgauge
