// Paper A's claims on weights and coverage, for inputs of which they hold, do not hold, and cannot
// be decided.
#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/claims.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

TEST(WeightsAreBounded, ByTheLemma) {
  const auto with = [](double use) {
    MadeScan made;
    made.add("weight_bound_use", {"length"}, [&](int, auto) { return use; });
    return judge_claim("weights_are_bounded", made.results);
  };
  EXPECT_EQ(with(0.7).verdict, holds);
  EXPECT_TRUE(with(0.7).theorem);
  EXPECT_NEAR(fact(with(0.7), "use_median"), 0.7, 1e-12);
  EXPECT_EQ(with(1.01).verdict, does_not_hold);
  EXPECT_EQ(with(-0.01).verdict, does_not_hold);
}

// The largest weight of 20 heads against the mean number of keys of a bin.
Claim vanishing(const std::function<double(int, double)>& weight) {
  MadeScan made;
  made.add("max_weight_with_sinks_by_position", {"position"},
           [&](int head, std::span<const Index> cell) {
             return weight(head, mean_keys(made.positions[cell[2]]));
           });
  return judge_claim("weights_vanish", made.results);
}

TEST(WeightsVanish, EveryVerdict) {
  const auto power = [](double exponent) {
    return vanishing([=](int, double n) { return std::pow(n, exponent); });
  };
  EXPECT_EQ(power(-1).verdict, holds);
  EXPECT_EQ(power(-0.3).verdict, does_not_hold);
  EXPECT_EQ(fact(power(-0.3), "heads_slower"), 20);
  EXPECT_EQ(fact(power(-0.3), "heads_falling"), 20);
  EXPECT_EQ(fact(power(0), "heads_falling"), 0);
  expect_verdict(vanishing([](int, double n) {
                   return std::pow(n, -0.8) * (static_cast<int>(std::log2(n)) % 2 == 1 ? 2 : 1);
                 }),
                 cannot_tell);
}

// Layers whose measured coverage is `off` from the formula.
Claim covering(const std::function<double(Index)>& off, double error, int layers = 4) {
  MadeScan made;
  std::vector<double> names(layers);
  for (int l = 0; l < layers; ++l) names[l] = l;
  made.results.set_coord("layer", names);
  const std::vector<std::string> dims{"layer", "length", "top_n"};
  LabelledArray& own = made.results.add_metric("union_coverage", dims, "1");
  own.with_standard_errors();
  LabelledArray& paper = made.results.add_metric("union_coverage_paper", dims, "1");
  own.each([&](std::span<const Index> cell, std::size_t at) {
    // N = 20 is what is looked at.
    paper.values[at] = cell[2] == 3 ? 0.9 : 0.1;
    own.set(cell, {.value = 0.9 + off(cell[0]), .standard_error = error, .degrees_of_freedom = 15});
  });
  return judge_claim("coverage_is_independent", made.results);
}

TEST(CoverageIsIndependent, EveryVerdict) {
  EXPECT_EQ(covering([](Index) { return 0.01; }, 0.01).verdict, holds);
  EXPECT_EQ(covering([](Index) { return -0.2; }, 0.01).verdict, does_not_hold);
  EXPECT_EQ(covering([](Index) { return 0.01; }, 0.05).verdict, cannot_tell);
  EXPECT_EQ(covering([](Index) { return 0.01; }, 0.01, 3).verdict, not_tested);
  const Claim one = covering([](Index layer) { return layer == 0 ? 0.2 : 0.0; }, 0.01);
  EXPECT_EQ(one.verdict, holds) << "three quarters";
  EXPECT_EQ(fact(one, "layers_within"), 3);
}

// What half of the heads share beyond random sets, and what the other half do.
Claim queries_with(double one, double other) {
  MadeScan made;
  for (const char* name :
       {"query_overlap", "query_overlap_random", "query_distinct", "query_distinct_random"}) {
    const bool own = name == std::string_view("query_overlap");
    made.add(name, {"top_n"}, [&](int, std::span<const Index> cell) {
      return own ? 0.1 + (cell[1] % 2 == 0 ? one : other) : 0.1;
    });
  }
  return judge_claim("queries_select_independently", made.results);
}

TEST(QueriesSelectIndependently, EveryVerdict) {
  EXPECT_EQ(queries_with(0.01, 0.01).verdict, holds);
  const Claim shared = queries_with(0.3, 0.3);
  EXPECT_EQ(shared.verdict, does_not_hold) << shared.measured;
  EXPECT_NEAR(fact(shared, "overlap_above_random"), 0.3, 1e-12);
  EXPECT_EQ(queries_with(0.01, 0.3).verdict, cannot_tell);
}

}  // namespace
}  // namespace headgauge
