// Heads that lose answers when they alone are changed: planted losses are found, noise is not.
#include "experiments/retrieval_heads.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge {
namespace {

Estimate change_of(double value, double error = .01, double freedom = 9) {
  return {.value = value, .standard_error = error, .degrees_of_freedom = freedom};
}

// Returns two groups in which heads 1 and 3 of four lose answers, 3 in the second group alone.
AnswerChanges planted() {
  return {{change_of(.001), change_of(.2), change_of(-.2), change_of(0)},
          {change_of(-.001), change_of(.3), change_of(-.3), change_of(.4)}};
}

TEST(RetrievalHeads, AreThoseThatLoseOverAllGroups) {
  EXPECT_EQ(find_retrieval_heads(planted(), .05), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(find_retrieval_heads(planted(), .05, 1), (std::vector<bool>{false, true, false, false}))
      << "the second group is left out";
}

// Two groups with errors .01 and .03 of 4 and 9 degrees of freedom. Their mean .0295 has the error
// hypot(.01, .03) / 2 = .0158114 and .001^2 / (.0001^2/4 + .0009^2/9) = 10.8108 degrees of freedom:
// scipy.stats.t.sf(1.865745, 10.8108) = .0447.
TEST(RetrievalHeads, TestTheMeanOfTheGroupsWithTheFreedomOfWelch) {
  const AnswerChanges changes = {{change_of(.029, .01, 4)}, {change_of(.03, .03, 9)}};
  EXPECT_TRUE(find_retrieval_heads(changes, .0455).front());
  EXPECT_FALSE(find_retrieval_heads(changes, .0440).front());
}

TEST(RetrievalHeads, AreNotShownByNoise) {
  int found = 0;
  constexpr int kWorlds = 400, kHeads = 40, kCases = 10;
  for (std::uint32_t world = 0; world < kWorlds; ++world) {
    AnswerChanges changes(2);
    for (std::uint32_t g = 0; g < 2; ++g) {
      for (std::uint32_t h = 0; h < kHeads; ++h) {
        std::vector<double> cases(kCases);
        RandomStream(world, RandomDomain::phantom, g, h).normals(cases);
        double mean = 0, square = 0;
        for (const double one : cases) mean += one / kCases;
        for (const double one : cases) square += (one - mean) * (one - mean);
        changes[g].push_back(
            change_of(mean, std::sqrt(square / (kCases - 1) / kCases), kCases - 1));
      }
    }
    const std::vector<bool> heads = find_retrieval_heads(changes, .05);
    found += std::ranges::count(heads, true) > 0 ? 1 : 0;
  }
  EXPECT_LT(found, .05 * kWorlds + 3 * std::sqrt(.05 * .95 * kWorlds));
  EXPECT_GT(found, .05 * kWorlds - 3 * std::sqrt(.05 * .95 * kWorlds));
}

TEST(RetrievalHeads, AreCheckedOnTheGroupsThatDidNotFindThem) {
  Results results;
  results.set_coord("layer", std::vector<double>{0});
  results.set_coord("head", std::vector<double>{0, 1, 2, 3});
  results.set_coord("intervention", std::vector<std::string>{"w"});
  results.set_coord("cases", std::vector<std::string>{"a", "b"});
  const std::vector<HeadName> heads = {{0, 0, 0, 0}, {0, 1, 0, 1}, {0, 2, 0, 2}, {0, 3, 0, 3}};
  AnswerChanges changes = planted();
  changes[0][0] = changes[1][0] = {};
  write_retrieval_heads({&changes, 1}, heads, .05, results);
  const LabelledArray& role = results.require_metric(metric::retrieval_head);
  EXPECT_TRUE(std::isnan(role({0, 0, 0}))) << "an unknown change is no verdict";
  EXPECT_EQ(role({0, 1, 0}), 1);
  EXPECT_EQ(role({0, 2, 0}), 0);
  const LabelledArray& found = results.require_metric(metric::found_answer_change);
  const LabelledArray& others = results.require_metric(metric::other_answer_change);
  // On b heads 1 and 3 were found; on a head 1 alone.
  EXPECT_NEAR(found({0, 0}), .1, 1e-12);
  EXPECT_NEAR(others({0, 0}), -.2, 1e-12);
  EXPECT_NEAR(found({0, 1}), .3, 1e-12);
  EXPECT_NEAR(others({0, 1}), .05, 1e-12);
  EXPECT_EQ(found.at({0, 1}).rows, 1);
}

}  // namespace
}  // namespace headgauge
