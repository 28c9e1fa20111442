// Paper A's claims on what becomes of bound, distance and separability as N grows, for inputs of
// which they hold, do not hold, and cannot be decided.
#include <gtest/gtest.h>

#include "headgauge/claims.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

using OfHeadAndSize = std::function<double(int, double)>;

Claim tightens_with(const OfHeadAndSize& factor) {
  MadeScan made;
  made.fill("distance", "length", [](int head, double length, double) { return length + head; });
  made.fill("distance_bound_paper", "length",
            [&](int head, double length, double n) { return (length + head) * factor(head, n); });
  return judge_claim("distance_bound_tightens", made.results);
}

TEST(DistanceBoundTightens, EveryVerdict) {
  const Claim tight = tightens_with([](int, double n) { return 1 + 10 / n; });
  EXPECT_EQ(tight.verdict, holds) << tight.measured;
  EXPECT_NEAR(fact(tight, "factor_100"), 1.1, 1e-9);
  const Claim loose = tightens_with([](int, double n) { return 1 + n / 100; });
  EXPECT_EQ(loose.verdict, does_not_hold) << loose.measured;
  EXPECT_NEAR(fact(loose, "change_median"), 2 / 1.05, 1e-9);
  // N = 1, where bound and distance are the same, is not looked at.
  const auto from_one = [](int, double n) { return n == 1 ? 1 : 2 - n / 1000; };
  EXPECT_EQ(tightens_with(from_one).verdict, holds);
  const auto mixed = [](int head, double n) { return 2 + (head % 2 == 0 ? n : -n) / 200; };
  EXPECT_EQ(tightens_with(mixed).verdict, cannot_tell);
}

Claim converge_with(const std::function<double(int, double, double)>& ratio, double theorem = 1) {
  MadeScan made;
  made.fill("distance", "length", ratio);
  made.fill("expected_distance", "length", [=](int, double, double) { return 1 / theorem; });
  made.fill("expected_distance_context", "length", [](int, double, double) { return 1; });
  return judge_claim("distances_converge", made.results);
}

TEST(DistancesConverge, EveryVerdict) {
  const Claim near = converge_with([](int head, double length, double n) {
    return length < 1024 ? 0.7 : 1 - 1 / n + 1e-4 * head;
  });
  EXPECT_EQ(near.verdict, holds) << near.measured;
  EXPECT_NEAR(fact(near, "ratio_512"), 0.7, 1e-12);
  EXPECT_EQ(converge_with([](int, double, double) { return 0.9; }).verdict, does_not_hold);
  EXPECT_EQ(converge_with([](int, double, double) { return 1.1; }).verdict, does_not_hold);
  expect_verdict(converge_with([](int head, double, double) { return head % 2 == 0 ? 1 : 0.9; }),
                 cannot_tell);
  const Claim apart = converge_with([](int, double, double) { return 1; }, 20);
  EXPECT_EQ(apart.verdict, does_not_hold) << "near in the reading context alone";
  EXPECT_NEAR(fact(apart, "ratio"), 20, 1e-9);
  EXPECT_NEAR(fact(apart, "ratio_context"), 1, 1e-9);
}

TEST(DistancesConverge, LeavesOutHeadsWithAWindow) {
  MadeScan made;
  made.fill("distance", "length", [](int head, double, double) { return head < 10 ? 1 : 3; });
  made.fill("expected_distance", "length", [](int, double, double) { return 1; });
  made.fill("expected_distance_context", "length", [](int, double, double) { return 1; });
  const auto with = [&](const std::vector<double>& windows) {
    made.results.set_coord("window", windows);
    return judge_claim("distances_converge", made.results);
  };
  EXPECT_EQ(fact(with({64, 64, 0, 0}), "ratio"), 3);
  EXPECT_EQ(fact(with({0, 0, 64, 64}), "ratio"), 1);
  EXPECT_EQ(with({0, 0, 64, 64}).verdict, holds);
  const Claim alone = with({64, 64, 64, 64});
  EXPECT_EQ(alone.verdict, not_tested);
  EXPECT_EQ(alone.measured, "Every head has a window below L.");
}

Claim tracks_with(const OfHeadAndSize& bound, const OfHeadAndSize& measured) {
  MadeScan made;
  made.fill("separability_upper_paper", "length",
            [&](int head, double, double n) { return bound(head, n); });
  made.fill("separability_with_sinks", "length",
            [&](int head, double, double n) { return measured(head, n); });
  return judge_claim("separability_bound_tracks", made.results);
}

TEST(SeparabilityBoundTracks, EveryVerdict) {
  const OfHeadAndSize falling = [](int head, double n) { return 0.9 - n / 300 - 1e-3 * head; };
  const OfHeadAndSize near = [&](int head, double n) { return falling(head, n) + 0.05; };
  EXPECT_EQ(tracks_with(near, falling).verdict, holds);
  const OfHeadAndSize flat = [](int, double) { return 0.99; };
  const Claim far = tracks_with(flat, falling);
  EXPECT_EQ(far.verdict, does_not_hold) << far.measured;
  EXPECT_NEAR(fact(far, "largest_100"), 0.9 - 1.0 / 3, 1e-9);
  // Far from the heads, but near to the largest of them.
  const OfHeadAndSize one_high = [&](int head, double n) {
    return head == 0 ? 0.95 : falling(head, n);
  };
  EXPECT_EQ(tracks_with(flat, one_high).verdict, cannot_tell);
}

// Every null has an error of 0.01 of 30 degrees of freedom.
Claim bounded_with(const OfHeadAndSize& bound, const OfHeadAndSize& null) {
  MadeScan made;
  made.fill("separability_null_with_sinks", "length",
            [&](int head, double, double n) { return null(head, n); });
  made.fill("separability_null_lower", "length",
            [&](int head, double, double n) { return bound(head, n); });
  made.fill("separability_lower_paper", "length",
            [](int, double, double n) { return 0.5 - n / 20; });
  LabelledArray& nulls = *made.results.metric("separability_null_with_sinks");
  nulls.with_standard_errors();
  std::ranges::fill(nulls.standard_error, 0.01);
  std::ranges::fill(nulls.degrees_of_freedom, 30);
  return judge_claim("separability_bound_without_sphere", made.results);
}

TEST(SeparabilityBoundWithoutSphere, EveryVerdict) {
  const OfHeadAndSize null = [](int head, double n) { return 0.8 - n / 300 - 1e-3 * head; };
  const Claim below = bounded_with([](int, double) { return 0.1; }, null);
  EXPECT_EQ(below.verdict, holds) << below.measured;
  EXPECT_TRUE(below.theorem);
  EXPECT_EQ(fact(below, "cells"), 20 * 6 * 5);  // 20 heads, 6 lengths, N from 5 to 100
  EXPECT_EQ(fact(below, "cells_printed_empty"), 20 * 6 * 4);
  EXPECT_NEAR(fact(below, "bound"), 0.1, 1e-12);
  EXPECT_NEAR(fact(below, "null"), 0.8 - 1.0 / 15 - 9.5e-3, 1e-12);
  // Two errors above the null are chance among so many cells, twenty in one head are not.
  const OfHeadAndSize near = [&](int head, double n) { return null(head, n) + 0.02; };
  EXPECT_EQ(bounded_with(near, null).verdict, holds);
  const OfHeadAndSize one = [&](int head, double n) {
    return head == 3 && n == 5 ? null(head, n) + 0.2 : 0.1;
  };
  const Claim broken = bounded_with(one, null);
  EXPECT_EQ(broken.verdict, does_not_hold) << broken.measured;
  EXPECT_EQ(fact(broken, "cells_below"), 6);
}

Verdict cold_with(const OfHeadAndSize& norm, const OfHeadAndSize& separability) {
  MadeScan made;
  made.results.set_coord("judged_temperature", std::vector<double>{0.1, 1});
  LabelledArray& norms =
      made.results.add_metric("norm_at_temperature", {"layer", "head", "judged_temperature"}, "1");
  LabelledArray& value = made.results.add_metric("cold_separability", {"layer", "head"}, "1");
  for (int head = 0; head < made.layers * made.heads; ++head) {
    norms.values[2 * head] = norm(head, 0.1);
    norms.values[2 * head + 1] = norm(head, 1);
    value.values[head] = separability(head, 0.1);
  }
  made.fill("separability_excess", "length",
            [&](int head, double, double) { return separability(head, 1); });
  return judge_claim("cold_raises_the_norm_alone", made.results).verdict;
}

TEST(ColdRaisesTheNormAlone, EveryVerdict) {
  const OfHeadAndSize rises = [](int head, double t) { return (1 + 0.01 * head) / t; };
  const OfHeadAndSize falls = [](int head, double t) { return (1 + 0.01 * head) * t; };
  const OfHeadAndSize stays = [](int head, double) { return 0.5 + 0.01 * head; };
  const OfHeadAndSize gains = [](int head, double t) { return t < 1 ? 0.8 : 0.5 + 0.01 * head; };
  const OfHeadAndSize unsure = [](int head, double t) {
    return t < 1 ? 0.5 + (head % 2 == 0 ? 0.2 : -0.2) : 0.5;
  };
  EXPECT_EQ(cold_with(rises, stays), holds);
  EXPECT_EQ(cold_with(falls, stays), does_not_hold);
  EXPECT_EQ(cold_with(rises, gains), does_not_hold);
  EXPECT_EQ(cold_with(rises, unsure), cannot_tell);
}

}  // namespace
}  // namespace headgauge
