#include "headgauge/series.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "results/faults.hpp"

namespace headgauge {
namespace {

using Numbers = std::vector<double>;
using Names = std::vector<std::string>;

constexpr int kLayers = 2, kHeads = 3;

// A run of two lengths whose metric "held" has `value(layer, head)` at the longest, with an error.
template <class Value>
Results run_of(const Value& value, double error = 0.1) {
  Results r;
  r.command = Command::scan;
  r.text.sha256 = {"a"};
  r.set_coord("layer", Numbers{0, 1});
  r.set_coord("head", Numbers{1, 2, 0});
  r.set_coord("length", Numbers{32, 64});
  LabelledArray& held = r.add_metric("held", {"layer", "head", "length"}, "keys");
  held.with_standard_errors();
  r.add_metric("of_layers", {"layer", "length"}, "1");
  for (Index layer = 0; layer < kLayers; ++layer) {
    for (Index head = 0; head < kHeads; ++head) {
      held.set({layer, head, 0}, {.value = -1, .standard_error = error, .degrees_of_freedom = 9});
      held.set({layer, head, 1},
               {.value = value(layer, head), .standard_error = error, .degrees_of_freedom = 9});
    }
  }
  return r;
}

TEST(Series, StepsAreTheLastNumbersOfTheNames) {
  EXPECT_EQ(steps_of(Names{"run2/check-100/results.json", "run2/check-20/results.json"}),
            (std::vector<int>{100, 20}));
  EXPECT_EQ(steps_of(Names{"a1", "b1"}), (std::vector<int>{1, 2})) << "the same number twice";
  EXPECT_EQ(steps_of(Names{"a1", "b99999999999"}), (std::vector<int>{1, 2}))
      << "too large a number";
  EXPECT_EQ(steps_of(Names{"a", "b7", "c"}), (std::vector<int>{1, 2, 3}))
      << "a name without a number";
}

TEST(Series, JoinsRunsInTheOrderOfTheirSteps) {
  // Head 1.2 has 1, 4 and 5 at the steps 0, 10 and 30; all others stay at 2.
  const auto at = [](double moved) {
    return [moved](Index layer, Index head) { return layer == 1 && head == 2 ? moved : 2.0; };
  };
  const std::vector<Results> runs = {run_of(at(5)), run_of(at(1)), run_of(at(4))};
  const Results joined = series(runs, Names{"r30", "r0", "r10"});
  EXPECT_EQ(joined.command, Command::series);
  const auto steps = joined.coord_numbers("step");
  EXPECT_EQ(Numbers(steps.begin(), steps.end()), (Numbers{0, 10, 30}));
  for (Index step = 0; step < 3; ++step) {
    EXPECT_EQ(joined.at("held", {1, 2, step}), (Numbers{1, 4, 5})[step]);
    EXPECT_EQ(joined.at("held", {0, 1, step}), 2);
  }
  EXPECT_EQ(joined.metric("of_layers"), nullptr);
  const Estimate change = joined.require_metric("series_change").at({1, 2, 0});
  EXPECT_NEAR(change.value, 4, 1e-12);
  EXPECT_NEAR(change.standard_error, 0.1 * std::sqrt(2.0), 1e-12);
  EXPECT_NEAR(change.degrees_of_freedom, 18, 1e-9);
  // The steps are -40/3, -10/3 and 50/3 from their mean, and their squares sum to 1400/3.
  const Estimate slope = joined.require_metric("series_slope").at({1, 2, 0});
  EXPECT_NEAR(slope.value, (-40 * 1 - 10 * 4 + 50 * 5) / 1400.0, 1e-12);
  EXPECT_NEAR(slope.standard_error, 0.1 / std::sqrt(1400.0 / 3), 1e-12);
  EXPECT_EQ(joined.at("series_half_step", {1, 2, 0}), 10);
  EXPECT_TRUE(std::isnan(joined.at("series_half_step", {0, 0, 0}))) << "it does not change";
  EXPECT_LT(joined.at("series_change_p", {1, 2, 0}), 1e-10);
  EXPECT_EQ(joined.at("series_change_p", {0, 0, 0}), 1);
  EXPECT_NE(joined.summary.front().text.find("1 of 6 metrics of a head"), std::string::npos)
      << joined.summary.front().text;
}

TEST(Series, HalfStepIsWhereTheValueStays) {
  const auto half_of = [](const Numbers& values) {
    std::vector<Results> runs;
    Names names;
    for (const double value : values) {
      runs.push_back(run_of([value](Index, Index) { return value; }));
      names.push_back("s" + std::to_string(names.size() + 1));
    }
    return series(runs, names).at("series_half_step", {0, 0, 0});
  };
  EXPECT_EQ(half_of({0, 1, 2, 9, 10}), 4);
  EXPECT_EQ(half_of({0, 9, 1, 9, 10}), 4) << "it went back";
  EXPECT_EQ(half_of({10, 8, 4, 0}), 3);
  EXPECT_EQ(half_of({0, 10}), 2);
  EXPECT_EQ(half_of({0, 4, 10}), 3) << "4 is nearer to 0";
  EXPECT_EQ(half_of({0, 6, 10}), 2);
}

// If nothing changes, a change is listed in at most a share `level` of the series.
TEST(Series, ListsNoMoreByChanceThanTheLevel) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  std::chi_squared_distribution<double> chi(9);
  constexpr int kSeries = 1000;
  int listed = 0;
  for (int trial = 0; trial < kSeries; ++trial) {
    std::vector<Results> runs;
    for (int step = 0; step < 2; ++step) {
      runs.push_back(run_of([&](Index, Index) { return normal(random); }, 1));
      for (double& error : runs.back().metric("held")->standard_error) {
        error = std::sqrt(chi(random) / 9);
      }
    }
    const Results joined = series(runs, Names{"s1", "s2"});
    const auto& p = joined.require_metric("series_change_p").values;
    listed += std::ranges::any_of(p, [](double value) { return value < 0.05; }) ? 1 : 0;
  }
  EXPECT_LE(listed, 0.05 * kSeries + 3 * std::sqrt(0.05 * 0.95 * kSeries));
  EXPECT_GE(listed, 0.02 * kSeries);
}

TEST(Series, RefusesWhatCannotBeJoined) {
  const auto same = [](Index, Index) { return 1.0; };
  const std::vector<Results> runs = {run_of(same), run_of(same)};
  const Names names = {"s1", "s2"};
  expect_part(thrown<UsageError>([&] { series(std::span(runs).first(1), names); }), "two results");
  for (const auto& steps : std::vector<std::vector<int>>{{1}, {2, 1}, {1, 1}}) {
    expect_part(thrown<UsageError>([&] { series(runs, names, {.steps = steps}); }), "rising");
  }
  expect_part(thrown<UsageError>([&] { series(runs, names, {.metrics = {"heldd"}}); }),
              "did you mean held");
  std::vector<Results> other = {run_of(same), run_of(same)};
  other[1].set_coord("head", Numbers{0, 1, 3});
  expect_part(thrown<BadInputError>([&] { series(other, names); }), "s2: expected the heads of s1");
  other = {run_of(same), run_of(same)};
  other[0].set_coord("length", Numbers{32, 128});
  expect_part(thrown<BadInputError>([&] { series(other, names); }), "longest length");
  other = {run_of(same), Results()};
  expect_part(thrown<BadInputError>([&] { series(other, names); }), "s2");
}

}  // namespace
}  // namespace headgauge
