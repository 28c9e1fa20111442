// Paper A's claims on critical N, for inputs of which they hold, do not hold, and cannot be
// decided.
#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/claims.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

struct Found {
  double n = -1, closest = 40, closest_low = 30, closest_high = 50;
  double ratio = 0.97, ratio_low = 0.94, ratio_high = 1.0;
  int heads_of_layer = 5;
  double theorem = 20;  // distance/expected_distance, but for what the heads differ by
  double apart = 0;     // half of the heads by this more, half by this less
  int searched = 128;
  double longest = 1024;
  std::vector<double> windows = {0, 0, 0, 0};  // by layer
};

// The paper's test ends at N = 12; at the next that was measured, 20, all heads are 8 % below.
Claim critical_with(const Found& found) {
  MadeScan made(found.heads_of_layer);
  made.results.settings["critical_max"] = found.searched;
  made.results.set_coord("window", found.windows);
  made.results.set_coord("length", std::vector<double>{32, found.longest});
  made.fill("distance", "length",
            [](int head, double, double n) { return (n == 20 ? 0.92 : 1) + 1e-4 * head; });
  made.fill("expected_distance_context", "length", [](int, double, double) { return 1; });
  made.fill("expected_distance", "length", [&](int head, double, double) {
    return 1 / (found.theorem + (head % 2 == 0 ? found.apart : -found.apart));
  });
  const auto add = [&](const char* name, const Estimate& estimate) {
    LabelledArray& metric = made.results.add_metric(name, {"length"}, "1");
    metric.with_intervals().with_p();
    metric.set({0}, {.value = 1});
    metric.set({1}, estimate);
  };
  add("critical_n", {.value = found.n, .p = 0.02});
  add("closest_n", {.value = found.closest, .low = found.closest_low, .high = found.closest_high});
  add("closest_ratio", {.value = found.ratio, .low = found.ratio_low, .high = found.ratio_high});
  add("critical_n_paper", {.value = 12});
  add("critical_ks_d", {.value = 0.3, .p = 0.04});
  auto& own = made.results.add_metric("critical_fraction_head", {"layer", "head", "length"}, "1");
  for (std::size_t i = 0; i < own.values.size(); ++i) {
    own.values[i] = i % 4 == 1 ? 60 / found.longest : kUndefined;
  }
  return judge_claim("critical_n_is_small", made.results);
}

TEST(CriticalNIsSmall, IsJudgedByTheTheorem) {
  EXPECT_EQ(critical_with({.theorem = 1}).verdict, holds);
  // What the reading "context" finds decides nothing.
  EXPECT_EQ(critical_with({.n = 61}).verdict, does_not_hold);
  EXPECT_EQ(critical_with({.n = 61, .theorem = 0.1}).verdict, does_not_hold);
  EXPECT_NEAR(fact(critical_with({.n = 61}), "theorem_ratio"), 20 * 0.92, 0.1);
  EXPECT_EQ(fact(critical_with({.n = 61}), "theorem_n"), 20) << "the nearest of those below 61.44";
  expect_verdict(critical_with({.theorem = 1, .apart = 0.3}), cannot_tell);
}

TEST(CriticalNIsSmall, HasTheIntervalsAndPAmongItsFacts) {
  const Claim claim = critical_with({.n = 61});
  EXPECT_EQ(fact(claim, "critical_p"), 0.02);
  EXPECT_EQ(fact(claim, "closest_n_low"), 30);
  EXPECT_EQ(fact(claim, "closest_n_high"), 50);
  EXPECT_EQ(fact(claim, "closest_ratio_low"), 0.94);
  EXPECT_EQ(fact(claim, "closest_ratio_high"), 1);
  expect_part(claim.measured,
              "closest at N = 40 (30 to 50), 3.9 % of L, with a ratio of 0.97 (0.94");
}

TEST(CriticalNIsSmall, NotTested) {
  EXPECT_EQ(critical_with({.n = 1, .searched = 31, .longest = 33}).verdict, not_tested)
      << "6 % are not 2 keys";
  EXPECT_EQ(critical_with({.n = 3, .heads_of_layer = 3}).verdict, not_tested) << "12 heads";
  EXPECT_EQ(critical_with({.heads_of_layer = 4, .theorem = 1}).verdict, holds) << "16 heads";
  EXPECT_EQ(critical_with({.theorem = 1, .windows = {64, 0, 0, 0}}).verdict, not_tested)
      << "15 heads without a window";
}

TEST(CriticalNIsSmall, SaysWhyThePapersTestEndsTooEarly) {
  const Claim claim = critical_with({.n = 61});
  EXPECT_EQ(fact(claim, "critical_n_paper"), 12);
  EXPECT_EQ(fact(claim, "ks_p"), 0.04);
  // 20 heads, all below: 2 / 2^20.
  EXPECT_NEAR(fact(claim, "paired_p_there"), std::exp2(-19.0), 1e-12);
  expect_part(claim.measured, "at N = 20 the median ratio is 0.921");
}

Verdict growth_with(double exponent, double low, double high, std::vector<double> critical = {}) {
  MadeScan made;
  if (!critical.empty()) {
    made.results.add_metric("critical_n", {"length"}, "1").values = critical;
  }
  made.results.add_metric("closest_n_exponent", {}, "1")
      .with_intervals()
      .set({}, {.value = exponent, .low = low, .high = high});
  return judge_claim("critical_n_grows_sublinearly", made.results).verdict;
}

TEST(CriticalNGrowsSublinearly, ByTheInterval) {
  EXPECT_EQ(growth_with(0.7, 0.5, 0.9), holds);
  EXPECT_EQ(growth_with(1.2, 1.0, 1.4), does_not_hold);
  EXPECT_EQ(growth_with(0.9, 0.7, 1.1), cannot_tell);
  EXPECT_EQ(growth_with(kUndefined, kUndefined, kUndefined), not_tested);
  EXPECT_EQ(growth_with(0.7, 0.5, 0.9, {-1, -1, -1, -1, -1, -1}), not_tested);
  EXPECT_EQ(growth_with(0.7, 0.5, 0.9, {-1, -1, -1, -1, -1, 30}), holds);
}

// The ratio of the distance to its expectation at N = 100 of L = 1024, and what differs by head;
// and the ratio at all smaller N.
Claim beyond_with(const char* name, double ratio, double apart = 0, double below = 20) {
  MadeScan made;
  made.fill("distance", "length", [&](int head, double, double n) {
    return n < 61 ? below : ratio + (head % 2 == 0 ? apart : -apart);
  });
  made.fill("expected_distance", "length", [](int, double, double) { return 1; });
  return judge_claim(name, made.results);
}

TEST(BeyondSixPercent, OneAccountOrTheOther) {
  const char* const kAlike = "beyond_six_percent_alike";
  const char* const kApart = "beyond_six_percent_apart";
  EXPECT_EQ(beyond_with(kAlike, 1.01).verdict, holds);
  EXPECT_EQ(beyond_with(kApart, 1.01).verdict, does_not_hold);
  EXPECT_EQ(beyond_with(kAlike, 1.1, 0.2).verdict, cannot_tell);
  EXPECT_EQ(beyond_with(kAlike, 6).verdict, does_not_hold);
  EXPECT_EQ(beyond_with(kApart, 6).verdict, does_not_hold) << "so it was before";
  EXPECT_EQ(beyond_with(kApart, 6, 0, 1).verdict, holds);
  EXPECT_EQ(beyond_with(kApart, 0.2, 0, 1).verdict, holds);
  EXPECT_EQ(beyond_with(kApart, 1.1, 0.2, 1).verdict, cannot_tell);
  EXPECT_EQ(fact(beyond_with(kApart, 6), "ratio_last"), 6);
  expect_part(beyond_with(kApart, 6).measured, "below 6 % it is 20 at N = 50");
  for (const char* name : {kAlike, kApart}) {
    MadeScan few;
    few.results.set_coord("top_n", std::vector<double>{1, 5, 60});
    EXPECT_EQ(judge_claim(name, few.results).verdict, not_tested);
  }
}

}  // namespace
}  // namespace headgauge
