#include "plan/confirmation.hpp"

#include <gtest/gtest.h>

#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

constexpr Index kDocuments = 8;

// Changes of the loss at 20 tolerances on the same documents. The true one is 0 at the first and
// grows; at number `at` it is .01, the rise that is allowed. What documents have in common is in
// all of them.
std::vector<ByDocument> rising_changes(World& world, std::size_t at) {
  const std::vector<double> shared = world.normals(kDocuments, 0, 0.004);
  std::vector<ByDocument> changes;
  for (std::size_t t = 0; t < 20; ++t) {
    const double truth = 0.01 * static_cast<double>(t) / static_cast<double>(at);
    ByDocument& change = changes.emplace_back(world.normals(kDocuments, truth, 0.002));
    for (std::size_t d = 0; d < change.size(); ++d) change[d] += shared[d];
  }
  return changes;
}

TEST(ShownBelow, StopsAtTheFirstThatIsNotShown) {
  const std::vector<ByDocument> changes = {{0, 0, 0}, {-.1, -.2, -.1}, {.1, .3, .2}, {0, 0, 0}};
  EXPECT_EQ(shown_below(changes, 0.01), 2U);
  EXPECT_EQ(shown_below(changes, 10), 4U);
  const std::vector<ByDocument> one_document = {{0.0}};
  EXPECT_EQ(shown_below(one_document, 0.01), 0U) << "one document shows nothing";
}

TEST(DealtP, CountsThePlanItself) {
  const std::vector<double> dealt = {1.5, 3.5, -.5, .5};
  EXPECT_DOUBLE_EQ(dealt_p(.5, dealt), 3.0 / 5);
  EXPECT_DOUBLE_EQ(dealt_p(-2, dealt), 1.0 / 5);
}

TEST(PlanCalibration, GoesTooFarInNoMoreWorldsThanItSays) {
  for (const std::size_t at : {1, 4, 12}) {
    const double too_far = share_of_worlds(
        [=](World& world) { return shown_below(rising_changes(world, at), 0.01) > at; });
    EXPECT_LE(too_far, kShown + three_errors(kShown)) << at;
  }
  // Where all before it are clear the level is used up.
  const double at_once = share_of_worlds([](World& world) {
    auto changes = rising_changes(world, 1);
    changes.erase(changes.begin());
    return shown_below(changes, 0.01) > 0;
  });
  EXPECT_NEAR(at_once, kShown, three_errors(kShown));
}

TEST(PlanCalibration, GoesFarWhereThereIsRoom) {
  const double far = share_of_worlds(
      [](World& world) { return shown_below(rising_changes(world, 12), 0.01) >= 6; });
  EXPECT_GT(far, 0.7);
}

TEST(PlanCalibration, RanksOfPlansThatAreNoBetterAreUniform) {
  expect_level([](World& world) {
    const double own = mean(world.normals(kDocuments));
    std::vector<double> dealt;
    for (int draw = 0; draw < 99; ++draw) dealt.push_back(mean(world.normals(kDocuments)));
    return dealt_p(own, dealt);
  });
}

}  // namespace
}  // namespace headgauge
