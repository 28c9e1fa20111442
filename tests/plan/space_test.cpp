#include "plan/space.hpp"

#include <gtest/gtest.h>

#include "plan/confirmation.hpp"

namespace headgauge {
namespace {

SourceInfo small_source() {
  SourceInfo source;
  source.layers = 2;
  source.heads = 4;
  source.kv_heads = 2;
  source.head_dim = 8;
  source.windows = {0, 32};
  return source;
}

TEST(PlanSpace, CountsTheKeysOfEveryLayer) {
  const PlanSpace space(small_source(), 128,
                        {{"sinks:sinks=4,window=60", ""}, {"topk:k=8", ""}, {"", "uniform"}});
  EXPECT_EQ(space.keys(0, 0), 128);
  EXPECT_EQ(space.keys(1, 0), 32);  // the layer's own window
  EXPECT_EQ(space.keys(0, 1), 64);
  EXPECT_EQ(space.keys(1, 1), 32);
  EXPECT_EQ(space.keys(0, 2), 128);  // an oracle holds all
  EXPECT_EQ(space.keys(0, 3), 1);
  EXPECT_EQ(space.share(space.same(0)), 1);
  EXPECT_EQ(space.share(moved(space.same(0), {0, {1}}, 1)), (64 + 128 + 64) / 320.0);
  EXPECT_EQ(space.smallest()(0, 0), 3);
}

TEST(PlanSpace, LayersWithoutAttentionKeepNothingAndHaveNoChoice) {
  SourceInfo source = small_source();
  source.layers = 4;
  source.windows = {0, 0, 0, 32};
  source.without_attention = {0, 2};
  const std::vector<HeadPlan> choices{{"sinks:sinks=4,window=60", ""}, {"", "uniform"}};
  const PlanSpace space(source, 128, choices), dense(small_source(), 128, choices);
  EXPECT_EQ(space.keys(0, 0), 0);
  EXPECT_EQ(space.keys(3, 0), 32);
  EXPECT_EQ(space.share(space.same(1)), dense.share(dense.same(1)));
  std::vector<int> layers;
  for (const HeadGroup& group : space.whole_layers()) layers.push_back(group.layer);
  EXPECT_EQ(layers, (std::vector<int>{1, 3}));
  EXPECT_EQ(space.single_heads().size(), 4U);
  for (const Choices& choice : {space.same(2), space.smallest()}) {
    const PerHead<HeadPlan> plan = space.plan(choice);
    EXPECT_FALSE(plan(0, 0).changes() || plan(2, 1).changes());
    EXPECT_TRUE(plan(1, 0).changes() && plan(3, 1).changes());
  }
  const auto unchanged = [](const PerHead<HeadPlan>& plan) {
    return !plan(0, 0).changes() && !plan(2, 1).changes() && plan(1, 1).changes();
  };
  EXPECT_TRUE(unchanged(equal_windows(space, 0.5)));
  EXPECT_TRUE(unchanged(heaviest_keys(space, 0.5)));
}

TEST(PlanSpace, ChangesTheSelectedLayersAlone) {
  const SourceInfo source = small_source();  // 2 heads of 128 keys, 2 of 32
  const HeadSelection changed("0", "", 2, 2);
  EXPECT_DOUBLE_EQ(fixed_share(source, changed, 128), 0.2);
  const PlanSpace space(source, 128, {{"sinks:sinks=4,window=60", ""}, {"", "uniform"}}, false,
                        changed);
  EXPECT_EQ(space.single_heads().size(), 2U);
  EXPECT_DOUBLE_EQ(space.share_of_changed(0.6), 0.5);
  EXPECT_EQ(space.share_of_changed(0.1), 0);
  EXPECT_DOUBLE_EQ(space.share(space.smallest()), (1 + 1 + 64) / 320.0);
  for (const PerHead<HeadPlan>& plan :
       {space.plan(space.same(1)), equal_windows(space, 0.5), heaviest_keys(space, 0.5)}) {
    EXPECT_TRUE(plan(0, 0).changes() && plan(0, 1).changes());
    EXPECT_FALSE(plan(1, 0).changes() || plan(1, 1).changes());
  }
}

TEST(PlanSpace, DefaultCandidatesFitTheSharesAndTheContext) {
  const auto candidates = candidates_of({}, {0.75, 0.5}, 256);
  std::vector<std::string> texts;
  for (const HeadPlan& candidate : candidates) texts.push_back(candidate.text());
  EXPECT_EQ(texts, (std::vector<std::string>{"sinks:sinks=4,window=188", "sinks:sinks=4,window=124",
                                             "sinks:sinks=4,window=12", "uniform"}));
}

TEST(PlanSpace, RefusesPatternsThatLeaveEveryKey) {
  const auto candidates = [](const std::string& pattern) {
    PlanOptions options;
    options.patterns = {pattern};
    return candidates_of(options, {0.5}, 256);
  };
  EXPECT_THROW(candidates("window:size=256"), UsageError);
  EXPECT_THROW(candidates("sinks:sinks=4,window=252"), UsageError);
  EXPECT_EQ(candidates("window:size=255").size(), 2U);  // uniform besides
  EXPECT_EQ(candidates("topk:k=8").size(), 2U);         // holds every key of any text
}

}  // namespace
}  // namespace headgauge
