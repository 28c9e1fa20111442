#include "plan/rivals.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace headgauge {
namespace {

// Six layers of two key-value heads, every third with a window of its own.
PlanSpace small_space(Index context = 1000) {
  SourceInfo source;
  source.layers = 6;
  source.heads = 4;
  source.kv_heads = 2;
  source.head_dim = 8;
  source.windows = {0, 0, 100, 0, 0, 100};
  return {source, context, {{"window:size=16", ""}}};
}

double share_of(const PlanSpace& space, const PerHead<HeadPlan>& plan) {
  return cache_share(plan, space.source(), space.context());
}

TEST(Pyramid, KeepsTheWholeShareWhereLayersAreFull) {
  const PlanSpace space = small_space();
  for (const double share : {0.9, 0.75, 0.5, 0.1}) {
    for (const double slope : {-0.9, -0.3, 0.3, 0.9}) {
      const double kept = share_of(space, pyramid(space, share, slope));
      EXPECT_LE(kept, share + 1e-12) << share << " " << slope;
      EXPECT_GT(kept, share - 6.0 / 4200) << share << " " << slope;  // a key of each layer
    }
  }
}

TEST(Pyramid, FallsEvenlyWhereNoLayerIsFull) {
  SourceInfo source = small_space().source();
  source.windows.clear();
  const PlanSpace space(source, 1000, {{"window:size=16", ""}});
  const PerHead<HeadPlan> plan = pyramid(space, 0.5, 0.5);
  std::vector<Index> keys;
  for (int layer = 0; layer < 6; ++layer) {
    keys.push_back(cached_keys(plan(layer, 0), layer, source, 1000));
  }
  EXPECT_EQ(keys, (std::vector<Index>{750, 650, 550, 450, 350, 250}));
}

TEST(Dealt, KeepsTheShareAndTheEntries) {
  const PlanSpace space = small_space();
  PerHead<HeadPlan> plan(6, 2);
  int next = 10;
  plan.each([&](int layer, int, HeadPlan& head) {
    head.pattern = "window:size=" + std::to_string(layer % 3 == 2 ? next : 10 * next);
    ++next;
  });
  const auto entries = [](const PerHead<HeadPlan>& of) {
    std::vector<std::string> texts;
    for (const HeadPlan& head : of) texts.push_back(head.text());
    std::ranges::sort(texts);
    return texts;
  };
  int moved = 0;
  for (std::uint32_t draw = 0; draw < 20; ++draw) {
    const PerHead<HeadPlan> other = dealt(space, plan, 1, draw);
    EXPECT_EQ(entries(other), entries(plan));
    EXPECT_DOUBLE_EQ(share_of(space, other), share_of(space, plan));
    other.each([&](int layer, int head, const HeadPlan& of) {
      if (of != plan(layer, head)) ++moved;
    });
  }
  EXPECT_GT(moved, 20 * 6);  // most of twelve, draw by draw
  EXPECT_EQ(entries(dealt(space, plan, 1, 0)), entries(plan));
}

}  // namespace
}  // namespace headgauge
