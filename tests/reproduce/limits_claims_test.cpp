// Every claim of paper A: an input for which its test says that it holds, one for which it does
// not, and one that cannot be decided.
#include <gtest/gtest.h>

#include <cmath>

#include "reproduce/claims.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

// Mean number of keys of the rows of a bin that ends at `label` and begins at half of it.
double mean_keys(double label) {
  return (label / 2 + 1 + label) / 2;
}

Claim growth_with(const std::function<double(int, double)>& exponent_and_noise) {
  MadeScan made;
  made.fill("distance_by_position", "position",
            [&](int head, double label, double) { return exponent_and_noise(head, label); });
  return distance_grows_linearly(made.results);
}

TEST(DistanceGrowsLinearly, Holds) {
  // Affine, of a slope that differs from head to head; a quarter of the heads flattens.
  const Claim claim = growth_with([](int head, double label) {
    const double n = mean_keys(label);
    return head < 5 ? 3 * std::pow(n, 0.4) : 1 + (1 + head) * n;
  });
  EXPECT_EQ(claim.verdict, Verdict::holds) << claim.measured;
  EXPECT_EQ(fact(claim, "heads_linear"), 15);
  EXPECT_EQ(fact(claim, "heads_slower"), 5);
}

TEST(DistanceGrowsLinearly, DoesNotHold) {
  for (const double exponent : {0.0, 0.5, 0.75, 1.3, 2.0}) {
    const Claim claim = growth_with(
        [&](int head, double label) { return (1 + head) * std::pow(mean_keys(label), exponent); });
    EXPECT_EQ(claim.verdict, Verdict::does_not_hold) << exponent << claim.measured;
    EXPECT_NEAR(fact(claim, "exponent_median"), exponent, 1e-9);
  }
  // More than a quarter of the heads.
  const Claim claim = growth_with(
      [](int head, double label) { return std::pow(mean_keys(label), head < 6 ? 0.5 : 1.0); });
  EXPECT_EQ(claim.verdict, Verdict::does_not_hold) << claim.measured;
}

TEST(DistanceGrowsLinearly, CannotTell) {
  // About 1, but so noisy that it may be 0.6.
  const Claim noisy = growth_with([](int, double label) {
    const bool odd = static_cast<int>(std::log2(label)) % 2 == 1;
    return mean_keys(label) * (odd ? 2.0 : 0.5);
  });
  EXPECT_EQ(noisy.verdict, Verdict::cannot_tell) << noisy.measured;
  // Six heads of twenty can be judged, and all of them grow linearly.
  const Claim few = growth_with([](int head, double label) {
    const bool odd = static_cast<int>(std::log2(label)) % 2 == 1;
    return mean_keys(label) * (head < 6 ? 1.0 : odd ? 2.0 : 0.5);
  });
  EXPECT_EQ(fact(few, "heads_linear"), 6);
  EXPECT_EQ(few.verdict, Verdict::cannot_tell);
  MadeScan no_five;
  no_five.results.set_coord("top_n", std::vector<double>{1, 10});
  no_five.fill("distance_by_position", "position", [](int, double label, double) { return label; });
  EXPECT_EQ(distance_grows_linearly(no_five.results).verdict, Verdict::cannot_tell);
  MadeScan few_lengths;
  few_lengths.results.set_coord("position", std::vector<double>{32, 64, 128});
  few_lengths.fill("distance_by_position", "position",
                   [](int, double label, double) { return label; });
  EXPECT_EQ(distance_grows_linearly(few_lengths.results).verdict, Verdict::cannot_tell);
}

TEST(DistanceGrowsLinearly, ModelsThatSeeEverythingAreReadByLengthAndWindowsAreLeftOut) {
  MadeScan made;
  made.results.model["causal"] = false;
  made.fill("distance_by_position", "position", [](int, double, double) { return 1; });
  made.fill("distance", "length", [](int, double label, double) { return label; });
  EXPECT_EQ(distance_grows_linearly(made.results).verdict, Verdict::holds);

  MadeScan windows;  // of the first three layers: flat beyond 64
  windows.results.set_coord("window", std::vector<double>{64, 64, 64, 0});
  windows.fill("distance_by_position", "position",
               [](int head, double label, double) { return head < 15 ? 1 : mean_keys(label); });
  const Claim claim = distance_grows_linearly(windows.results);
  EXPECT_EQ(claim.verdict, Verdict::holds) << claim.measured;
  EXPECT_EQ(fact(claim, "heads"), 5);
}

// Bounds that are `factor` times the distance, `odd` times in one cell.
Claim bound_of(double factor, double odd, const std::function<bool(double, double)>& where) {
  MadeScan made;
  made.fill("distance", "length",
            [](int head, double label, double n) { return 1 + head + label + n; });
  made.fill("distance_bound_paper", "length", [&](int head, double label, double n) {
    return (1 + head + label + n) * (head == 3 && where(label, n) ? odd : factor);
  });
  return bound_is_safe_but_conservative(made.results);
}

TEST(BoundIsSafeButConservative, HoldsAndDoesNot) {
  const auto first = [](double length, double n) { return length == 32 && n == 5; };
  EXPECT_EQ(bound_of(2, 1, first).verdict, Verdict::holds);
  EXPECT_EQ(bound_of(2, 1 - 5e-5, first).verdict, Verdict::holds) << "rounding";
  EXPECT_EQ(bound_of(2, 0.99, first).verdict, Verdict::does_not_hold) << "not safe";
  EXPECT_EQ(bound_of(1.1, 1.1, first).verdict, Verdict::does_not_hold) << "not conservative";
  EXPECT_EQ(bound_of(1.3, 1.3, first).verdict, Verdict::holds);
  const Claim claim = bound_of(2, 0.9, first);
  EXPECT_EQ(fact(claim, "cells_below"), 1);
  EXPECT_DOUBLE_EQ(fact(claim, "factor_least"), 0.9);
  EXPECT_EQ(fact(claim, "factor_median"), 2);
  EXPECT_EQ(fact(claim, "cells"), 20 * (6 + 5)) << "N = 5 at every L, every N at the longest";
  // What belongs to neither figure is not looked at.
  const auto aside = [](double length, double n) { return length == 32 && n == 10; };
  EXPECT_EQ(bound_of(2, 0.9, aside).verdict, Verdict::holds);
}

TEST(BoundIsSafeButConservative, CannotTell) {
  EXPECT_EQ(bound_is_safe_but_conservative(MadeScan().results).verdict, Verdict::cannot_tell);
}

Claim returns_with(const std::function<double(int, double)>& distance, double longest = 1024) {
  MadeScan made;
  made.results.set_coord("length", std::vector<double>{longest});
  made.fill("distance", "length", [&](int head, double, double n) { return distance(head, n); });
  return returns_diminish(made.results);
}

TEST(ReturnsDiminish, HoldsAndDoesNot) {
  const auto saturating = [](int, double n) { return n / (n + 10); };
  const auto linear = [](int, double n) { return 3 + n; };
  EXPECT_EQ(returns_with(saturating).verdict, Verdict::holds);
  EXPECT_EQ(returns_with(linear).verdict, Verdict::does_not_hold);
  EXPECT_NEAR(fact(returns_with(linear), "share_median"), 1, 1e-12);
  const auto mixed = [&](int head, double n) {
    return head < 5 ? linear(head, n) : saturating(head, n);
  };
  EXPECT_EQ(returns_with(mixed).verdict, Verdict::holds) << "three quarters";
  const auto too_mixed = [&](int head, double n) {
    return head < 6 ? linear(head, n) : saturating(head, n);
  };
  EXPECT_EQ(returns_with(too_mixed).verdict, Verdict::does_not_hold);
  // The largest N that is no more than an eighth of L.
  EXPECT_EQ(fact(returns_with(saturating), "n_last"), 100);
  EXPECT_EQ(fact(returns_with(saturating, 512), "n_last"), 50);
}

TEST(ReturnsDiminish, CannotTell) {
  const auto saturating = [](int, double n) { return n / (n + 10); };
  EXPECT_EQ(returns_with(saturating, 256).verdict, Verdict::cannot_tell) << "L too short";
  const auto falling = [](int, double n) { return 100 - n; };
  EXPECT_EQ(returns_with(falling).verdict, Verdict::cannot_tell) << "there are no returns";
}

// Heads alternate about the mean.
Claim separability_with(const std::function<double(double)>& mean, double spread = 0.02) {
  MadeScan made;
  made.fill("separability", "length", [&](int head, double, double n) {
    return mean(n) + (head % 2 == 0 ? spread : -spread);
  });
  made.fill("separability_null", "length", [](int, double, double) { return 0.5; });
  made.fill("separability_sphere", "length", [](int, double, double) { return 0.4; });
  return separability_settles(made.results);
}

TEST(SeparabilitySettles, HoldsAndDoesNot) {
  EXPECT_EQ(separability_with([](double n) { return n < 16 ? 0.95 : 0.8; }).verdict,
            Verdict::holds);
  EXPECT_EQ(separability_with([](double) { return 0.6; }).verdict, Verdict::does_not_hold);
  EXPECT_EQ(separability_with([](double) { return 0.95; }).verdict, Verdict::does_not_hold);
  EXPECT_EQ(separability_with([](double n) { return n < 60 ? 0.8 : 0.6; }).verdict,
            Verdict::does_not_hold)
      << "one of the means outside";
  const Claim moving = separability_with([](double n) { return 0.84 - 0.056 * std::log2(n / 20); });
  EXPECT_EQ(moving.verdict, Verdict::does_not_hold) << "inside, but not settled";
  EXPECT_NEAR(fact(moving, "drift_per_doubling"), -0.056, 1e-9);
  EXPECT_EQ(fact(moving, "separability_null_20"), 0.5);
  EXPECT_NEAR(fact(moving, "separability_sphere_20"), 0.4, 1e-12);
}

TEST(SeparabilitySettles, CannotTell) {
  // 0.69 with a standard error of 0.2 / sqrt 19.
  EXPECT_EQ(separability_with([](double) { return 0.69; }, 0.2).verdict, Verdict::cannot_tell);
  EXPECT_EQ(separability_with([](double) { return 0.68; }, 0.03).verdict, Verdict::does_not_hold);
  MadeScan few;
  few.results.set_coord("top_n", std::vector<double>{1, 5, 20, 100});
  few.fill("separability", "length", [](int, double, double) { return 0.8; });
  EXPECT_EQ(separability_settles(few.results).verdict, Verdict::cannot_tell);
}

// g of T for the smallest step; of the others something else.
Results sensitivity_of(const std::function<double(double)>& g, std::vector<double> temperatures,
                       std::vector<double> epsilons = {1e-3, 0.1, 10}) {
  Results results;
  results.set_coord("temperature", temperatures);
  results.set_coord("epsilon", epsilons);
  LabelledArray& metric = results.add_metric("sensitivity_max", {"temperature", "epsilon"}, "1");
  for (std::size_t t = 0; t < temperatures.size(); ++t) {
    for (std::size_t e = 0; e < epsilons.size(); ++e) {
      metric.values[t * epsilons.size() + e] = e == 0 ? g(temperatures[t]) : 0.1;
    }
  }
  return results;
}

std::vector<double> default_temperatures() {
  std::vector<double> list;
  for (int i = 0; i < 31; ++i) list.push_back(std::pow(10.0, -2 + 0.1 * i));
  return list;
}

Claim cold_with(const std::function<double(double)>& g) {
  return sensitivity_follows_temperature(sensitivity_of(g, default_temperatures()));
}

TEST(SensitivityFollowsTemperature, HoldsAndDoesNot) {
  // What happens above T = 0.1 is not its business.
  EXPECT_EQ(cold_with([](double t) { return t < 0.11 ? 0.02 / t : 5; }).verdict, Verdict::holds);
  EXPECT_EQ(cold_with([](double t) { return std::pow(t, -0.5); }).verdict, Verdict::does_not_hold);
  EXPECT_EQ(cold_with([](double t) { return std::pow(t, -1.5); }).verdict, Verdict::does_not_hold);
  EXPECT_EQ(cold_with([](double) { return 3.0; }).verdict, Verdict::does_not_hold);
  // Of several small steps the smallest is taken, wherever it stands: here g does not move.
  const Results two =
      sensitivity_of([](double t) { return 1 / t; }, default_temperatures(), {5e-3, 1e-3});
  EXPECT_EQ(sensitivity_follows_temperature(two).verdict, Verdict::does_not_hold);
  const Claim claim = cold_with([](double t) { return std::pow(t, -0.9); });
  EXPECT_EQ(claim.verdict, Verdict::holds);
  EXPECT_NEAR(fact(claim, "exponent"), -0.9, 1e-9);
}

TEST(SensitivityFollowsTemperature, CannotTell) {
  EXPECT_EQ(cold_with([](double t) { return std::min(14.0, 0.3 / t); }).verdict,
            Verdict::cannot_tell)
      << "bends: about -0.8, give or take";
  const auto inverse = [](double t) { return 1 / t; };
  EXPECT_EQ(sensitivity_follows_temperature(sensitivity_of(inverse, {0.05, 0.1, 1})).verdict,
            Verdict::cannot_tell);
  const Results coarse = sensitivity_of(inverse, default_temperatures(), {0.1, 10});
  EXPECT_EQ(sensitivity_follows_temperature(coarse).verdict, Verdict::cannot_tell);
  EXPECT_EQ(sensitivity_follows_temperature(Results()).verdict, Verdict::cannot_tell);
}

TEST(SensitivityFallsByTwoOrders, EveryVerdict) {
  const auto with = [](const std::function<double(double)>& g) {
    return sensitivity_falls_by_two_orders(sensitivity_of(g, default_temperatures()));
  };
  EXPECT_EQ(with([](double t) { return 1 / t; }).verdict, Verdict::holds);
  EXPECT_EQ(with([](double t) { return std::pow(t, -0.76); }).verdict, Verdict::holds) << "rounded";
  EXPECT_EQ(with([](double t) { return std::pow(t, -0.74); }).verdict, Verdict::does_not_hold);
  EXPECT_NEAR(fact(with([](double t) { return std::pow(t, -1.5); }), "orders"), 3, 1e-9);
  const auto inverse = [](double t) { return 1 / t; };
  EXPECT_EQ(sensitivity_falls_by_two_orders(sensitivity_of(inverse, {0.01, 0.1, 1, 5})).verdict,
            Verdict::cannot_tell);
  EXPECT_EQ(sensitivity_falls_by_two_orders(Results()).verdict, Verdict::cannot_tell);
}

TEST(LimitsClaims, AreComplete) {
  const std::vector<Claim> claims = limits_claims(MadeScan().results);
  ASSERT_EQ(claims.size(), 7u);
  for (const Claim& claim : claims) {
    EXPECT_EQ(claim.verdict, Verdict::cannot_tell) << claim.name;
    EXPECT_EQ(claim.paper, "A");
    for (const std::string* text : {&claim.name, &claim.figure, &claim.statement, &claim.reading,
                                    &claim.test, &claim.measured}) {
      EXPECT_FALSE(text->empty()) << claim.name;
    }
  }
}

}  // namespace
}  // namespace headgauge
