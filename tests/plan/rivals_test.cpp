#include "plan/confirmation.hpp"

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
