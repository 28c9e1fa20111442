// The search by regression against all plans there are.
#include "plan/regression.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "headgauge/headgauge.hpp"
#include "plan/tiny_plan.hpp"

namespace headgauge {
namespace {

constexpr double kShare = 0.5;

struct Search {
  std::unique_ptr<HeadSource> source = testing::tiny_source(8);
  Evaluations known;
  JointChange loss{*source, "search", known, {}};
  PlanSpace space{source->info(), 96, {{"window:size=8", ""}}};
  Parts progress{nullptr};

  // The costs of all plans of at most the share, lowest first.
  std::vector<double> all_costs() {
    std::vector<HeadGroup> heads = space.single_heads();
    std::vector<double> costs;
    for (int code = 0; code < 1 << heads.size(); ++code) {
      Choices choices = space.same(0);
      for (std::size_t h = 0; h < heads.size(); ++h) {
        if ((code >> h & 1) != 0) choices = moved(std::move(choices), heads[h], 1);
      }
      if (space.share(choices) > kShare) continue;
      costs.push_back(loss.cost(loss.change(space.plan(choices))));
    }
    std::ranges::sort(costs);
    return costs;
  }
};

TEST(Regression, FindsAPlanAmongTheBestAndMeasuresFewOnAllDocuments) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    Search search;
    PlanOptions options;
    options.seed = seed;
    options.samples = 32;
    RegressionFinder finder(search.space, search.loss, options, search.progress);
    finder.prepare(kShare, kShare);
    const std::vector<FoundPlan> found = finder.within(kShare);
    // Six that won the race, and two by layers.
    EXPECT_LE(finder.all().size(), 8u);
    EXPECT_NE(finder.by_layer(kShare), nullptr);
    ASSERT_FALSE(found.empty());
    std::vector<double> offered;
    for (const FoundPlan& plan : found)
      offered.push_back(search.loss.cost(search.loss.change(plan.plan)));
    EXPECT_TRUE(std::ranges::is_sorted(offered));
    const std::vector<double> all = search.all_costs();
    ASSERT_EQ(all.size(), 93u);
    const auto better = std::ranges::lower_bound(all, offered.front()) - all.begin();
    EXPECT_LE(better, 9) << "of " << all.size() << " plans, seed " << seed;
  }
}

}  // namespace
}  // namespace headgauge
