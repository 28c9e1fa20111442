// Every claim of paper A: an input for which its test says that it holds, one for which it does
// not, and one that cannot be decided.
#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/claims.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

Claim growth_with(const std::function<double(int, double)>& exponent_and_noise) {
  MadeScan made;
  made.fill("distance_by_position", "position",
            [&](int head, double label, double) { return exponent_and_noise(head, label); });
  return judge_claim("distance_grows_linearly", made.results);
}

TEST(DistanceGrowsLinearly, Holds) {
  // Affine, of a slope that differs from head to head; a quarter of the heads flattens.
  const Claim claim = growth_with([](int head, double label) {
    const double n = mean_keys(label);
    return head < 5 ? 3 * std::pow(n, 0.4) : 1 + (1 + head) * n;
  });
  EXPECT_EQ(claim.verdict, holds) << claim.measured;
  EXPECT_EQ(fact(claim, "heads_linear"), 15);
  EXPECT_EQ(fact(claim, "heads_slower"), 5);
}

TEST(DistanceGrowsLinearly, DoesNotHold) {
  for (const double exponent : {0.0, 0.5, 0.75, 1.3, 2.0}) {
    const Claim claim = growth_with(
        [&](int head, double label) { return (1 + head) * std::pow(mean_keys(label), exponent); });
    EXPECT_EQ(claim.verdict, does_not_hold) << exponent << claim.measured;
    EXPECT_NEAR(fact(claim, "median_exponent"), exponent, 1e-9);
  }
  // More than a quarter of the heads.
  expect_verdict(growth_with([](int head, double label) {
                   return std::pow(mean_keys(label), head < 6 ? 0.5 : 1.0);
                 }),
                 does_not_hold);
}

TEST(DistanceGrowsLinearly, CannotTell) {
  // About 1, but so noisy that it may be 0.6.
  expect_verdict(growth_with([](int, double label) {
                   const bool odd = static_cast<int>(std::log2(label)) % 2 == 1;
                   return mean_keys(label) * (odd ? 2.0 : 0.5);
                 }),
                 cannot_tell);
  // Six heads of twenty can be judged, and all of them grow linearly.
  const Claim few = growth_with([](int head, double label) {
    const bool odd = static_cast<int>(std::log2(label)) % 2 == 1;
    return mean_keys(label) * (head < 6 ? 1.0 : odd ? 2.0 : 0.5);
  });
  EXPECT_EQ(fact(few, "heads_linear"), 6);
  EXPECT_EQ(few.verdict, cannot_tell);
  MadeScan no_five;
  no_five.results.set_coord("top_n", std::vector<double>{1, 10});
  no_five.fill("distance_by_position", "position", [](int, double label, double) { return label; });
  EXPECT_EQ(judge_claim("distance_grows_linearly", no_five.results).verdict, not_tested);
  MadeScan few_lengths;
  few_lengths.results.set_coord("position", std::vector<double>{32, 64, 128});
  few_lengths.fill("distance_by_position", "position",
                   [](int, double label, double) { return label; });
  EXPECT_EQ(judge_claim("distance_grows_linearly", few_lengths.results).verdict, not_tested);
}

TEST(DistanceGrowsLinearly, ModelsThatSeeEverythingAreReadByLengthAndWindowsAreLeftOut) {
  MadeScan made;
  made.results.model.causal = false;
  made.fill("distance_by_position", "position", [](int, double, double) { return 1; });
  made.fill("distance", "length", [](int, double label, double) { return label; });
  EXPECT_EQ(judge_claim("distance_grows_linearly", made.results).verdict, holds);

  MadeScan windows;  // of the first three layers: flat beyond 64
  windows.results.set_coord("window", std::vector<double>{64, 64, 64, 0});
  windows.fill("distance_by_position", "position",
               [](int head, double label, double) { return head < 15 ? 1 : mean_keys(label); });
  const Claim claim = judge_claim("distance_grows_linearly", windows.results);
  EXPECT_EQ(claim.verdict, holds) << claim.measured;
  EXPECT_EQ(fact(claim, "heads"), 5);
}

// Bounds that are `factor` times the distance, `odd` times in one cell.
Results bounds_of(double factor, double odd, const std::function<bool(double, double)>& where) {
  MadeScan made;
  made.fill("distance", "length",
            [](int head, double label, double n) { return 1 + head + label + n; });
  made.fill("distance_bound_paper", "length", [&](int head, double label, double n) {
    return (1 + head + label + n) * (head == 3 && where(label, n) ? odd : factor);
  });
  return std::move(made.results);
}

TEST(DistanceBoundIsSafe, HoldsAndDoesNot) {
  const auto first = [](double length, double n) { return length == 32 && n == 5; };
  const auto verdict = [](const Results& results) {
    return judge_claim("distance_bound_is_safe", results).verdict;
  };
  EXPECT_EQ(verdict(bounds_of(2, 1, first)), holds);
  EXPECT_EQ(verdict(bounds_of(2, 1 - 5e-5, first)), holds) << "rounding";
  EXPECT_EQ(verdict(bounds_of(2, 0.99, first)), does_not_hold);
  const Claim claim = judge_claim("distance_bound_is_safe", bounds_of(2, 0.9, first));
  EXPECT_TRUE(claim.theorem);
  EXPECT_EQ(fact(claim, "cells_below"), 1);
  EXPECT_EQ(fact(claim, "cells"), 20 * (6 + 5)) << "N = 5 at every L, every N at the longest";
  // What belongs to neither figure is not looked at.
  const auto aside = [](double length, double n) { return length == 32 && n == 10; };
  EXPECT_EQ(verdict(bounds_of(2, 0.9, aside)), holds);
}

TEST(DistanceBoundIsConservative, EveryVerdict) {
  const auto nowhere = [](double, double) { return false; };
  const auto of_factor = [&](double factor) {
    return judge_claim("distance_bound_is_conservative", bounds_of(factor, 1, nowhere));
  };
  EXPECT_EQ(of_factor(1.1).verdict, does_not_hold);
  EXPECT_EQ(of_factor(1.3).verdict, holds);
  EXPECT_FALSE(of_factor(1.3).theorem);
  EXPECT_EQ(fact(of_factor(2), "median_factor"), 2);
  // Half of the heads at 1.1, half at 1.3: the median of a resample is either.
  MadeScan mixed;
  mixed.fill("distance", "length", [](int, double, double) { return 1.0; });
  mixed.fill("distance_bound_paper", "length",
             [](int head, double, double) { return head % 2 == 0 ? 1.1 : 1.3; });
  EXPECT_EQ(judge_claim("distance_bound_is_conservative", mixed.results).verdict, cannot_tell);
}

Claim returns_with(const std::function<double(int, double)>& distance, double longest = 1024) {
  MadeScan made;
  made.results.set_coord("length", std::vector<double>{longest});
  made.fill("distance", "length", [&](int head, double, double n) { return distance(head, n); });
  return judge_claim("returns_diminish", made.results);
}

TEST(ReturnsDiminish, HoldsAndDoesNot) {
  const auto saturating = [](int, double n) { return n / (n + 10); };
  const auto linear = [](int, double n) { return 3 + n; };
  EXPECT_EQ(returns_with(saturating).verdict, holds);
  EXPECT_EQ(returns_with(linear).verdict, does_not_hold);
  EXPECT_NEAR(fact(returns_with(linear), "median_share"), 1, 1e-12);
  // The largest N that is no more than an eighth of L.
  EXPECT_EQ(fact(returns_with(saturating), "n_last"), 100);
  EXPECT_EQ(fact(returns_with(saturating, 512), "n_last"), 50);
}

TEST(ReturnsDiminish, CannotTell) {
  // Half of the heads either way: the median of a resample may be on either side.
  const Claim mixed =
      returns_with([](int head, double n) { return head % 2 == 0 ? 3 + n : n / (n + 10); });
  EXPECT_EQ(mixed.verdict, cannot_tell) << mixed.measured;
  EXPECT_EQ(fact(mixed, "heads_diminishing"), 10);
  MadeScan few(1);  // 4 heads
  few.results.set_coord("length", std::vector<double>{1024});
  few.fill("distance", "length", [](int, double, double n) { return n / (n + 10); });
  EXPECT_EQ(judge_claim("returns_diminish", few.results).verdict, cannot_tell);
}

TEST(ReturnsDiminish, NotTested) {
  const auto saturating = [](int, double n) { return n / (n + 10); };
  EXPECT_EQ(returns_with(saturating, 256).verdict, not_tested) << "L too short";
  const auto falling = [](int, double n) { return 100 - n; };
  EXPECT_EQ(returns_with(falling).verdict, not_tested) << "there are no returns";
}

// Heads alternate about the mean.
Claim separability_with(const std::function<double(double)>& mean, double spread = 0.02) {
  MadeScan made;
  made.fill("separability", "length", [&](int head, double, double n) {
    return mean(n) + (head % 2 == 0 ? spread : -spread);
  });
  made.fill("separability_null", "length", [](int, double, double) { return 0.5; });
  made.fill("separability_sphere", "length", [](int, double, double) { return 0.4; });
  made.fill("separability_excess_distinct", "length", [](int, double, double) { return -0.07; });
  return judge_claim("separability_settles", made.results);
}

TEST(SeparabilitySettles, HoldsAndDoesNot) {
  EXPECT_EQ(separability_with([](double n) { return n < 16 ? 0.95 : 0.8; }).verdict, holds);
  EXPECT_EQ(separability_with([](double) { return 0.6; }).verdict, does_not_hold);
  EXPECT_EQ(separability_with([](double) { return 0.95; }).verdict, does_not_hold);
  EXPECT_EQ(separability_with([](double n) { return n < 60 ? 0.8 : 0.6; }).verdict, does_not_hold)
      << "one of the means outside";
  const Claim moving = separability_with([](double n) { return 0.84 - 0.056 * std::log2(n / 20); });
  EXPECT_EQ(moving.verdict, does_not_hold) << "inside, but not settled";
  EXPECT_NEAR(fact(moving, "drift_per_doubling"), -0.056, 1e-9);
  EXPECT_EQ(fact(moving, "separability_null_20"), 0.5);
  EXPECT_NEAR(fact(moving, "separability_sphere_20"), 0.4, 1e-12);
  expect_part(moving.measured,
              "exceeds permuted weights by +0.340, with each vector counted once "
              "by -0.070.");
}

TEST(SeparabilitySettles, CannotTellHowFarItMoves) {
  // All means are within the band; half of the heads fall by 0.1 per doubling, half rise.
  MadeScan made;
  made.fill("separability", "length", [](int head, double, double n) {
    return 0.78 + (head % 2 == 0 ? 0.1 : -0.1) * std::log2(n / 20) / std::log2(5);
  });
  EXPECT_EQ(judge_claim("separability_settles", made.results).verdict, holds);
  MadeScan wild;
  wild.fill("separability", "length", [](int head, double, double n) {
    return 0.775 + (head % 2 == 0 ? 0.155 : -0.155) * (n > 20 ? 1 : -1);
  });
  EXPECT_EQ(judge_claim("separability_settles", wild.results).verdict, cannot_tell);
}

TEST(SeparabilitySettles, CannotTell) {
  // 0.69 with a standard error of 0.2 / sqrt 19.
  EXPECT_EQ(separability_with([](double) { return 0.69; }, 0.2).verdict, cannot_tell);
  EXPECT_EQ(separability_with([](double) { return 0.68; }, 0.03).verdict, does_not_hold);
  MadeScan few;
  few.results.set_coord("top_n", std::vector<double>{1, 5, 20, 100});
  few.fill("separability", "length", [](int, double, double) { return 0.8; });
  EXPECT_EQ(judge_claim("separability_settles", few.results).verdict, not_tested);
}

TEST(SphereReachesTheBand, EveryVerdict) {
  const auto sphere_with = [](const MadeScan::Formula& value) {
    MadeScan made;
    made.fill("separability", "length", [](int, double, double) { return 0.8; });
    made.fill("separability_sphere", "length", value);
    return judge_claim("sphere_reaches_the_band", made.results).verdict;
  };
  EXPECT_EQ(sphere_with([](int, double, double) { return 0.8; }), holds);
  EXPECT_EQ(sphere_with([](int, double, double n) { return n < 60 ? 0.8 : 0.4; }), does_not_hold);
  EXPECT_EQ(sphere_with([](int head, double, double) { return head % 2 == 0 ? 0.5 : 0.9; }),
            cannot_tell);
}

// A place whose bound gets tight, or loose, or neither.
Results place_with(Verdict tightens) {
  MadeScan made;
  const double power = tightens == holds ? -0.1 : 0.1;
  made.fill("distance", "length", [](int, double, double) { return 1; });
  made.fill("distance_bound_paper", "length", [&](int head, double, double n) {
    const bool odd = tightens == cannot_tell && head % 2 == 1;
    return 2 * std::pow(n, odd ? -power : power);
  });
  return made.results;
}

Claim tightens_at(std::vector<Verdict> with, std::vector<Verdict> beyond) {
  Places places;
  for (const Verdict verdict : with) places.with.push_back(place_with(verdict));
  for (const Verdict verdict : beyond) places.beyond.push_back(place_with(verdict));
  for (Claim& claim : judge_at(places)) {
    if (claim.name == "distance_bound_tightens") return claim;
  }
  return {};
}

bool says(const Claim& claim, const char* text) {
  return claim.measured.find(text) != std::string::npos;
}

TEST(Places, AVerdictStandsAtAllOfThemWithAndWithoutTheSinks) {
  const std::vector<Verdict> yes(4, holds), no(4, does_not_hold);
  EXPECT_EQ(tightens_at(yes, yes).verdict, holds);
  EXPECT_EQ(tightens_at(no, no).verdict, does_not_hold);
  EXPECT_EQ(tightens_at(yes, {}).verdict, holds)
      << "without x nothing is measured beyond the sinks";
  EXPECT_TRUE(
      says(tightens_at(yes, yes), "Over 4 places the change median is 0.741 ± 0 (standard error)."))
      << tightens_at(yes, yes).measured;
  const Claim sinks = tightens_at(yes, no);
  EXPECT_EQ(sinks.verdict, cannot_tell);
  EXPECT_TRUE(says(sinks,
                   "It turns with the sinks: with the sinks it holds at 4 of 4 places; "
                   "beyond them it does not hold at 4 of 4 places."))
      << sinks.measured;
  const Claim place = tightens_at({holds, holds, cannot_tell, holds}, yes);
  EXPECT_EQ(place.verdict, cannot_tell);
  EXPECT_TRUE(says(place,
                   "It turns with the place: with the sinks it holds at 3, cannot tell "
                   "at 1 of 4 places; beyond them it holds at 4 of 4 places."))
      << place.measured;
}

TEST(Places, OneIsNoProof) {
  const Claim one = tightens_at({holds}, {holds});
  EXPECT_EQ(one.verdict, cannot_tell);
  EXPECT_TRUE(says(one, "It holds here, at 1 of the 4 places that a verdict needs."))
      << one.measured;
  // A theorem needs no places, and falls at any.
  const auto safe_at = [](double below) {
    MadeScan made, other;
    for (MadeScan* scan : {&made, &other}) {
      scan->fill("distance", "length", [](int, double, double) { return 1; });
      const double bound = scan == &other ? below : 2;
      scan->fill("distance_bound_paper", "length", [=](int, double, double) { return bound; });
    }
    for (Claim& claim : judge_at({.with = {made.results}, .beyond = {other.results}})) {
      if (claim.name == "distance_bound_is_safe") return claim.verdict;
    }
    return not_tested;
  };
  EXPECT_EQ(safe_at(1), holds);
  EXPECT_EQ(safe_at(0.9), does_not_hold);
}

// Each threshold by itself, a fifth down and up, with all places judged anew.
TEST(Places, AThresholdThatTurnsTheVerdictIsNamed) {
  const auto turns_with = [](double factor) {
    MadeScan made;
    made.fill("distance", "length", [](int, double, double) { return 1; });
    made.fill("distance_bound_paper", "length", [=](int, double, double) { return factor; });
    made.fill("distance_bound", "length", [](int, double, double) { return 1; });
    const std::vector<Results> four(4, made.results);
    for (Claim& claim : judge_at({.with = four, .beyond = four})) {
      if (claim.name == "distance_bound_is_conservative") return claim.turns;
    }
    return std::vector<std::string>{"no such claim"};
  };
  EXPECT_EQ(turns_with(2), std::vector<std::string>());
  EXPECT_EQ(turns_with(1.3),
            std::vector<std::string>{"factor = 1.44 in place of 1.2: does not hold"});
  EXPECT_EQ(turns_with(1.1), std::vector<std::string>{"factor = 0.96 in place of 1.2: holds"});
}

TEST(LimitsClaims, AreComplete) {
  const std::vector<Claim> claims = judge_at({.with = {MadeScan().results}, .beyond = {}});
  ASSERT_EQ(claims.size(), 35u);
  for (const Claim& claim : claims) {
    EXPECT_EQ(claim.verdict, not_tested) << claim.name;
    expect_verdict(judge_claim(claim.name, MadeScan().results), not_tested);
    EXPECT_EQ(claim.paper, "A");
    for (const std::string* text : {&claim.name, &claim.figure, &claim.statement, &claim.reading,
                                    &claim.test, &claim.measured}) {
      EXPECT_FALSE(text->empty()) << claim.name;
      EXPECT_EQ(text->find('{'), std::string::npos) << "a threshold without a value: " << *text;
    }
  }
  for (const char* name :
       {"sensitivity_follows_temperature", "sensitivity_falls_by_two_orders", "steps_agree",
        "gradient_bound_is_safe", "gradient_is_within_quarter", "weights_are_bounded",
        "coverage_is_independent", "entropy_warns", "falling_separability_warns"}) {
    expect_verdict(judge_claim(name, Results()), not_tested);
  }
}

}  // namespace
}  // namespace headgauge
