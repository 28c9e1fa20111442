// Paper A's claims on gradients and temperature, for inputs of which they hold, do not hold, and
// cannot be decided.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "headgauge/claims.hpp"
#include "headgauge/scan.hpp"
#include "made_source.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

using OfHeadAndTemperature = std::function<double(int, double)>;

// g of 20 heads for the smallest step; of the others something else.
Results sensitivity_of(const OfHeadAndTemperature& g, std::vector<double> temperatures,
                       std::vector<double> epsilons = {1e-3, 0.1, 10}) {
  MadeScan made;
  made.results.set_coord("temperature", temperatures);
  made.results.set_coord("epsilon", epsilons);
  made.add("sensitivity", {"temperature", "epsilon"}, [&](int head, std::span<const Index> cell) {
    return cell[3] == 0 ? g(head, temperatures[cell[2]]) : 0.1;
  });
  return std::move(made.results);
}

std::vector<double> default_temperatures() {
  std::vector<double> list;
  for (int i = 0; i < 31; ++i) list.push_back(std::pow(10.0, -2 + 0.1 * i));
  return list;
}

// Heads of one shape, each a little below the one before.
OfHeadAndTemperature alike(const std::function<double(double)>& g) {
  return [=](int head, double t) { return g(t) * (1 - 0.001 * head); };
}

Claim cold_with(const OfHeadAndTemperature& g) {
  return judge_claim("sensitivity_follows_temperature", sensitivity_of(g, default_temperatures()));
}
Claim cold_as(const std::function<double(double)>& g) {
  return cold_with(alike(g));
}

TEST(SensitivityFollowsTemperature, HoldsAndDoesNot) {
  // What happens above T = 0.1 is not its business.
  EXPECT_EQ(cold_as([](double t) { return t < 0.11 ? 0.02 / t : 5; }).verdict, holds);
  EXPECT_EQ(cold_as([](double t) { return std::pow(t, -0.5); }).verdict, does_not_hold);
  EXPECT_EQ(cold_as([](double t) { return std::pow(t, -1.5); }).verdict, does_not_hold);
  EXPECT_EQ(cold_as([](double) { return 3.0; }).verdict, does_not_hold);
  // Of several small steps the smallest is taken, wherever it stands: here g does not move.
  const Results two =
      sensitivity_of(alike([](double t) { return 1 / t; }), default_temperatures(), {5e-3, 1e-3});
  EXPECT_EQ(judge_claim("sensitivity_follows_temperature", two).verdict, does_not_hold);
  const Claim claim = cold_as([](double t) { return std::pow(t, -0.9); });
  EXPECT_EQ(claim.verdict, holds);
  EXPECT_NEAR(fact(claim, "exponent"), -0.9, 1e-9);
}

TEST(SensitivityFollowsTemperature, IsJudgedByTheLargestHead) {
  // It goes as T^-0.5 where the others go as 1/T.
  const Claim claim =
      cold_with([](int head, double t) { return head == 7 ? 1000 * std::pow(t, -0.5) : 1 / t; });
  EXPECT_EQ(claim.verdict, does_not_hold) << claim.measured;
  EXPECT_NEAR(fact(claim, "exponent"), -0.5, 1e-9);
  EXPECT_NEAR(fact(claim, "exponent_median"), -1, 1e-9);
  EXPECT_EQ(fact(claim, "heads_following"), 19);
  // Bends: about -0.8, give or take.
  expect_verdict(cold_as([](double t) { return std::min(14.0, 0.3 / t); }), cannot_tell);
}

TEST(SensitivityFollowsTemperature, NotTested) {
  const auto inverse = alike([](double t) { return 1 / t; });
  expect_verdict(
      judge_claim("sensitivity_follows_temperature", sensitivity_of(inverse, {0.05, 0.1, 1})),
      not_tested);
  const Results coarse = sensitivity_of(inverse, default_temperatures(), {0.1, 10});
  EXPECT_EQ(judge_claim("sensitivity_follows_temperature", coarse).verdict, not_tested);
}

TEST(SensitivityFallsByTwoOrders, EveryVerdict) {
  const auto with = [](const OfHeadAndTemperature& g) {
    return judge_claim("sensitivity_falls_by_two_orders",
                       sensitivity_of(g, default_temperatures()));
  };
  const auto power = [&](double exponent) {
    return with(alike([=](double t) { return std::pow(t, exponent); }));
  };
  EXPECT_EQ(power(-1).verdict, holds);
  EXPECT_EQ(power(-0.76).verdict, holds) << "rounded";
  EXPECT_EQ(power(-0.74).verdict, does_not_hold);
  EXPECT_NEAR(fact(power(-1.5), "orders"), 3, 1e-9);
  const Claim one = with([](int head, double t) { return std::pow(t, head > 0 ? -0.4 : -1.0); });
  EXPECT_EQ(one.verdict, does_not_hold) << "at T = 10 the largest is another head's";
  const Claim most =
      with([](int head, double t) { return head == 0 ? 1e6 / t : std::pow(t, -0.5); });
  EXPECT_EQ(most.verdict, holds) << most.measured;
  EXPECT_EQ(fact(most, "heads_falling"), 1);
  const auto inverse = alike([](double t) { return 1 / t; });
  expect_verdict(
      judge_claim("sensitivity_falls_by_two_orders", sensitivity_of(inverse, {0.01, 0.1, 1, 5})),
      not_tested);
}

// Three steps: that of 10 has another exponent.
Claim steps_with(double other, double spread = 0) {
  MadeScan made;
  const std::vector<double> temperatures = default_temperatures();
  made.results.set_coord("temperature", temperatures);
  made.results.set_coord("epsilon", std::vector<double>{0.1, 1e-3, 10});
  made.add("sensitivity", {"temperature", "epsilon"}, [&](int, std::span<const Index> cell) {
    const double of_head = cell[1] % 2 == 0 ? spread : -spread;
    return std::pow(temperatures[cell[2]], cell[3] == 2 ? -0.2 + other + of_head : -0.2);
  });
  return judge_claim("steps_agree", made.results);
}

TEST(StepsAgree, EveryVerdict) {
  EXPECT_EQ(steps_with(0.05, 0.01).verdict, holds);
  const Claim apart = steps_with(0.3, 0.01);
  EXPECT_EQ(apart.verdict, does_not_hold) << apart.measured;
  EXPECT_NEAR(fact(apart, "difference_0.1"), 0, 1e-9);
  EXPECT_EQ(steps_with(0, 2).verdict, cannot_tell);
  const auto inverse = alike([](double t) { return 1 / t; });
  expect_verdict(
      judge_claim("steps_agree", sensitivity_of(inverse, default_temperatures(), {1e-3})),
      not_tested);
}

// Norms of 20 heads beside their bounds; `error` is that of the norms.
Results jacobians_of(const std::function<double(int)>& norm, double error) {
  MadeScan made;
  LabelledArray& metric =
      made.add("jacobian_spectral", {"length"}, [&](int head, auto) { return norm(head); });
  metric.with_standard_errors().standard_error.assign(metric.values.size(), error);
  metric.degrees_of_freedom.assign(metric.values.size(), 15);
  made.add("jacobian_bound", {"length"}, [](int, auto) { return 0.5; });
  made.add("jacobian_bound_paper", {"length"}, [](int, auto) { return 0.25; });
  return std::move(made.results);
}

TEST(GradientBoundIsSafe, EveryVerdict) {
  const Claim claim =
      judge_claim("gradient_bound_is_safe", jacobians_of([](int h) { return 0.02 * h; }, 0.01));
  EXPECT_EQ(claim.verdict, holds);
  EXPECT_TRUE(claim.theorem);
  EXPECT_NEAR(fact(claim, "tightness_most"), 0.76, 1e-12);
  const auto above = [](int h) { return h == 3 ? 0.51 : 0.1; };
  expect_verdict(judge_claim("gradient_bound_is_safe", jacobians_of(above, 0.01)), does_not_hold);
}

TEST(GradientIsWithinQuarter, EveryVerdict) {
  const auto one_above = [](int h) { return h == 3 ? 0.3 : 0.1; };
  const Claim sure = judge_claim("gradient_is_within_quarter", jacobians_of(one_above, 0.005));
  EXPECT_EQ(sure.verdict, does_not_hold);
  EXPECT_EQ(fact(sure, "heads_above_beyond_chance"), 1);
  // A mean above has a row above it, whatever the error; of other texts it says less.
  const Claim unsure = judge_claim("gradient_is_within_quarter", jacobians_of(one_above, 0.05));
  EXPECT_EQ(unsure.verdict, does_not_hold);
  EXPECT_EQ(fact(unsure, "heads_above"), 1);
  EXPECT_EQ(fact(unsure, "heads_above_beyond_chance"), 0);
  EXPECT_NEAR(fact(unsure, "largest_share"), 1.2, 1e-12);
  const Claim below =
      judge_claim("gradient_is_within_quarter", jacobians_of([](int) { return 0.1; }, 0.005));
  EXPECT_EQ(below.verdict, cannot_tell) << "means say nothing of rows";
  EXPECT_NEAR(fact(below, "largest_share"), 0.4, 1e-12);
  EXPECT_EQ(judge_claim("gradient_is_within_quarter",
                        jacobians_of([](int) { return 0.25 * (1 + 1e-6); }, 0))
                .verdict,
            cannot_tell)
      << "rounding";
  Results cold = jacobians_of(one_above, 0.005);
  cold.settings["normalizer"] = "softmax:t=0.1";
  EXPECT_EQ(judge_claim("gradient_is_within_quarter", cold).verdict, not_tested);
}

// A head whose rows of two keys and more have two equal logits, the others far below.
class TwoEqualLogits : public SourceOfHeads {
 public:
  TwoEqualLogits() : SourceOfHeads(1, kRows), ones_(kRows, 1), keys_(kRows, 1) {
    for (Index r = 0; r < kRows; ++r) {
      ones_.row(r)[0] = 1;
      keys_.row(r)[0] = r < 2 ? 40.0f : -40.0f;
    }
    heads_.front().queries = std::as_const(ones_).view();
    heads_.front().keys = std::as_const(keys_).view();
    heads_.front().scale = 1;
    info_.head_dim = 1;
  }

 private:
  static constexpr Index kRows = 64;
  Matrix<float> ones_, keys_;
};

TEST(GradientIsWithinQuarter, RowsOfTwoEqualLogitsRefuteIt) {
  TwoEqualLogits source;
  ScanOptions options;
  options.lengths = {64};
  options.measures = {"sensitivity"};
  const Claim claim = judge_claim("gradient_is_within_quarter", scan(source, options));
  EXPECT_EQ(claim.verdict, does_not_hold) << claim.measured;
  // diag(1/2, 1/2) - 1/4 has the norm 1/2; the first row, of one key, has 0.
  EXPECT_NEAR(fact(claim, "norm_most"), 0.5 * 63 / 64, 1e-6);
}

// 20 heads at other temperatures.
struct MadeTemperatures {
  OfHeadAndTemperature norm = [](int, double t) { return 1 / (4 * t); };
  OfHeadAndTemperature error = [](int, double t) { return 0.01 / t; };
  OfHeadAndTemperature entropy = [](int, double t) { return t > 1 ? 0.99 : 0.5; };
};

Claim at_temperatures(const char* name, const MadeTemperatures& of) {
  MadeScan made;
  const std::vector<double> temperatures = {0.01, 0.02, 0.05, 0.1, 1, 10};
  made.results.set_coord("judged_temperature", temperatures);
  const auto add = [&](const char* metric, const OfHeadAndTemperature& value) -> LabelledArray& {
    return made.add(metric, {"judged_temperature"}, [&](int head, std::span<const Index> cell) {
      return value(head, temperatures[cell[2]]);
    });
  };
  add("norm_at_temperature", of.norm).with_standard_errors().standard_error =
      add("error_at_temperature", of.error).values;
  add("entropy_at_temperature", of.entropy);
  return judge_claim(name, made.results);
}

TEST(NormFollowsTemperature, IsThatOfTheLargest) {
  const Claim good = at_temperatures("norm_follows_temperature", {});
  EXPECT_EQ(good.verdict, holds) << good.measured;
  EXPECT_NEAR(fact(good, "exponent"), -1, 1e-9);
  EXPECT_NEAR(fact(good, "share_of_quarter"), 1, 1e-9);
  // One head follows 1/T, and is the largest; the others do not depend on T.
  const Claim one =
      at_temperatures("norm_follows_temperature",
                      {.norm = [](int head, double t) { return head == 3 ? 1 / t : 0.5; }});
  EXPECT_EQ(one.verdict, holds) << one.measured;
  EXPECT_NEAR(fact(one, "exponent_median"), 0, 1e-9);
  expect_verdict(at_temperatures("norm_follows_temperature",
                                 {.norm = [](int, double t) { return 1 / std::sqrt(t); }}),
                 does_not_hold);
  expect_verdict(
      at_temperatures("norm_follows_temperature",
                      {.norm = [](int, double t) { return t > 0.03 && t < 0.07 ? 90 : 1 / t; }}),
      cannot_tell);
}

TEST(ColdInflatesTheSpread, EveryVerdict) {
  const char* const kName = "cold_inflates_the_spread";
  const Claim good = at_temperatures(kName, {});
  EXPECT_EQ(good.verdict, holds) << good.measured;
  EXPECT_NEAR(fact(good, "ratio"), 10, 1e-9);
  expect_verdict(at_temperatures(kName, {.error = [](int, double t) { return t; }}), does_not_hold);
  expect_verdict(at_temperatures(kName, {.error =
                                             [](int head, double t) {
                                               return t == 1 ? 1.5 : head % 2 == 0 ? 2 : 1;
                                             }}),
                 cannot_tell);
}

TEST(HeatLosesSelectivity, EveryVerdict) {
  const char* const kName = "heat_loses_selectivity";
  EXPECT_EQ(at_temperatures(kName, {}).verdict, holds);
  expect_verdict(at_temperatures(kName, {.entropy = [](int, double) { return 0.9; }}),
                 does_not_hold);
  expect_verdict(
      at_temperatures(kName,
                      {.entropy = [](int head, double) { return head % 2 == 0 ? 0.9 : 0.99; }}),
      cannot_tell);
}

}  // namespace
}  // namespace headgauge
