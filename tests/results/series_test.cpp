#include "headgauge/series.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "faults.hpp"

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

// Joins one run for each step.
Results series(const std::vector<Results>& runs, const Names& names,
               const SeriesOptions& options = {}) {
  std::vector<std::vector<Results>> steps;
  for (const Results& run : runs) steps.push_back({run});
  return headgauge::series(steps, names, options);
}

double p_of_change(const Results& joined, std::initializer_list<Index> cell) {
  return joined.require_metric("series_change").at(cell).p;
}

TEST(Series, StepsAreTheNumbersInWhichTheNamesDiffer) {
  EXPECT_EQ(steps_of(Names{"run2/check-100/results.json", "run2/check-20/results.json"}),
            (Numbers{100, 20}));
  EXPECT_EQ(steps_of(Names{"step1000/scan-v2", "step100/scan-v2"}), (Numbers{1000, 100}));
  EXPECT_EQ(steps_of(Names{"step1000-v2.json", "step100-v2.json"}), (Numbers{1000, 100}));
  EXPECT_EQ(steps_of(Names{"epoch-0.5", "epoch-1.5", "epoch-2"}), (Numbers{0.5, 1.5, 2}));
  EXPECT_EQ(steps_of(Names{"tok-2000000000", "tok-10000000000"}), (Numbers{2e9, 1e10}));
  EXPECT_EQ(steps_of(Names{"a/x-1/scan-10", "b/x-2/scan-20"}), (Numbers{10, 20}));
}

TEST(Series, SomeNamesGiveNoSteps) {
  EXPECT_EQ(steps_of(Names{"f16", "q4"}), Numbers()) << "of another kind before the number";
  EXPECT_EQ(steps_of(Names{"tok-100M", "tok-1B"}), Numbers()) << "of another kind behind it";
  EXPECT_EQ(steps_of(Names{"a1", "a1"}), Numbers()) << "the same number twice";
  EXPECT_EQ(steps_of(Names{"a-1", "a-01"}), Numbers()) << "the same number in another form";
  EXPECT_EQ(steps_of(Names{"a", "a7", "a8"}), Numbers()) << "a name without a number";
  EXPECT_EQ(steps_of(Names{"v1.2.3", "v1.2.4"}), Numbers()) << "a version";
  EXPECT_EQ(steps_of(Names{}), Numbers());
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
  EXPECT_LT(change.p, 1e-10);
  EXPECT_EQ(p_of_change(joined, {0, 0, 0}), 1);
  expect_part(joined.summary.front().text,
              "3 results from step 0 to step 30, at 64 tokens: 1 of 6 values (a metric of a head)");
  EXPECT_EQ(joined.settings["length"], 64);
  EXPECT_EQ(joined.settings["runs"][0]["file"], "r0");
  EXPECT_EQ(joined.settings["runs"][2]["file"], "r30");
}

TEST(Series, StepsMayBeLargeOrFractional) {
  const auto same = [](Index, Index) { return 1.0; };
  const std::vector<Results> runs = {run_of(same), run_of(same)};
  const Results joined = series(runs, Names{"a", "b"}, {.steps = {0.5, 2000000}});
  EXPECT_EQ(joined.coord_numbers("step")[0], 0.5);
  expect_part(joined.summary.front().text, "from step 0.5 to step 2000000,");
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
  EXPECT_EQ(half_of({0, 5, 10}), 2) << "5 is as near to both";
}

// Returns a run of `metrics` metrics whose values are means of `batches` normal values.
template <class Random>
Results run_of_noise(Random& random, int metrics, int batches) {
  Results r = run_of([](Index, Index) { return 0.0; });
  r.metrics.clear();
  std::normal_distribution<double> normal;
  std::chi_squared_distribution<double> chi(batches - 1);
  for (int m = 0; m < metrics; ++m) {
    LabelledArray& metric =
        r.add_metric("m" + std::to_string(m), {"layer", "head"}, "1").with_standard_errors();
    for (Index layer = 0; layer < kLayers; ++layer) {
      for (Index head = 0; head < kHeads; ++head) {
        const double spread = std::sqrt(chi(random) / (batches - 1));
        metric.set({layer, head}, {.value = normal(random) / std::sqrt(batches),
                                   .standard_error = spread / std::sqrt(batches),
                                   .degrees_of_freedom = batches - 1.0});
      }
    }
  }
  return r;
}

// Returns the share of `count` series of two runs in which something is listed though nothing
// changes.
double listed_by_chance(int count, int metrics, int first_batches, int last_batches) {
  std::mt19937_64 random(4);
  int listed = 0;
  for (int trial = 0; trial < count; ++trial) {
    const std::vector<Results> runs = {run_of_noise(random, metrics, first_batches),
                                       run_of_noise(random, metrics, last_batches)};
    const Results joined = series(runs, Names{"s1", "s2"});
    const auto& p = joined.require_metric("series_change").p;
    listed += std::ranges::any_of(p, [](double value) { return value < 0.05; }) ? 1 : 0;
  }
  return static_cast<double>(listed) / count;
}

// If nothing changes, a change is listed in at most a share `level` of the series.
TEST(Series, ListsNoMoreByChanceThanTheLevel) {
  const double few = listed_by_chance(1000, 1, 10, 10);
  EXPECT_LE(few, 0.05 + 3 * std::sqrt(0.05 * 0.95 / 1000));
  EXPECT_GE(few, 0.02);
}

// Welch's own degrees of freedom list something in a third of these series: 300 values, whose
// errors have 3 and 15 degrees of freedom.
TEST(Series, ListsNoMoreByChanceWithFewBatchesOnOneSide) {
  EXPECT_LE(listed_by_chance(200, 50, 4, 16), 0.05 + 3 * std::sqrt(0.05 * 0.95 / 200));
}

TEST(Series, ADifferenceByRoundingIsNoChange) {
  for (const double error : {0.0, 1e-12}) {
    const std::vector<Results> runs = {
        run_of([](Index, Index) { return 1.0; }, error),
        run_of([](Index, Index head) { return head == 0 ? 1.000000001 : 1.00001; }, error)};
    const Results joined = series(runs, Names{"s1", "s2"});
    EXPECT_EQ(p_of_change(joined, {0, 0, 0}), 1) << error;
    EXPECT_LT(p_of_change(joined, {0, 1, 0}), 1e-6) << error;
    expect_part(joined.summary.front().text, "4 of 6 values");
  }
}

TEST(Series, MetricsOfNAreReadAtOneN) {
  const auto run_at = [](const Numbers& sizes) {
    Results r = run_of([](Index, Index) { return 1.0; });
    r.set_coord("top_n", sizes);
    LabelledArray& mass = r.add_metric("mass_of_n", {"layer", "head", "length", "top_n"}, "1");
    for (double& value : mass.values) value = 0.5;
    return r;
  };
  const std::vector<Results> runs = {run_at({1, 5}), run_at({1, 20})};
  const Names names = {"s1", "s2"};
  expect_part(thrown<BadInputError>([&] { series(runs, names); }),
              "s2: expected the judged N 5, as in s1, found 20");
  EXPECT_NO_THROW(series(runs, names, {.metrics = {"held"}})) << "it does not depend on N";
  const std::vector<Results> alike = {run_at({1, 5}), run_at({5})};
  const Results joined = series(alike, names);
  EXPECT_EQ(joined.settings["judged_n"], 5);
  expect_part(joined.summary.front().text, "at 64 tokens and for sets of 5 keys:");
}

TEST(Series, RefusesWhatCannotBeJoined) {
  const auto same = [](Index, Index) { return 1.0; };
  const std::vector<Results> runs = {run_of(same), run_of(same)};
  const Names names = {"s1", "s2"};
  expect_part(thrown<UsageError>([&] { series({runs[0]}, names); }), "two results");
  for (const auto& steps : std::vector<Numbers>{{1}, {2, 1}, {1, 1}}) {
    expect_part(thrown<UsageError>([&] { series(runs, names, {.steps = steps}); }), "rising");
  }
  expect_part(thrown<UsageError>([&] { series(runs, names, {.metrics = {"heldd"}}); }),
              "did you mean held");
  std::vector<Results> other = {run_of(same), run_of(same)};
  other[1].set_coord("head", Numbers{0, 1, 3});
  expect_part(thrown<BadInputError>([&] { series(other, names); }),
              "s2: expected the heads 1, 2, 0 of s1, found 0, 1, 3");
  other = {run_of(same), run_of(same)};
  other[0].set_coord("length", Numbers{32, 128});
  expect_part(thrown<BadInputError>([&] { series(other, names); }), "longest length");
  for (const char* coord : {"run", "step"}) {
    other = {run_of(same), run_of(same)};
    other[0].set_coord(coord, Numbers{1, 2});
    expect_part(thrown<BadInputError>([&] { series(other, names); }),
                "s1: expected the results of");
  }
  other = {run_of(same), Results()};
  expect_part(thrown<BadInputError>([&] { series(other, names); }), "s2");
}

std::string notices_of(const std::vector<Results>& runs, const Names& names = {"s1", "s2"}) {
  std::string all;
  for (const std::string& notice : series(runs, names).notices) all += notice + "\n";
  return all;
}

TEST(Series, NoticesSayWhatTheRunsDoNotShare) {
  const auto same = [](Index, Index) { return 1.0; };
  std::vector<Results> runs = {run_of(same), run_of(same)};
  const std::string alike = notices_of(runs);
  expect_part(alike, "too large where the runs move together, and too small");
  EXPECT_EQ(std::ranges::count(alike, '\n'), 1) << alike;
  expect_part(notices_of(runs, {"f16", "q4"}), "the names give no steps");

  runs[0].settings = {{"normalizer", "softmax"}, {"seed", 0}};
  runs[1].settings = {{"normalizer", "ssmax"}, {"seed", 0}};
  expect_part(notices_of(runs), "settings that differ between the results: normalizer\n");
  EXPECT_EQ(series(runs, Names{"s1", "s2"}).settings["runs"][1]["settings"],
            (nlohmann::ordered_json{{"normalizer", "ssmax"}}));

  runs = {run_of(same), run_of(same)};
  runs[1].partial = true;
  runs[1].model.vocabulary = 7;
  runs[0].notices = {"of both", "of one"};
  runs[1].notices = {"of both"};
  runs[0].add_metric("of_one_run", {"layer", "head"}, "1");
  const std::string different = notices_of(runs);
  for (const char* part : {"incomplete results: s2\n", "another kind of model than in s1: s2\n",
                           "\nof both\n", "s1: of one\n", "left out: of_one_run\n"}) {
    expect_part(different, part);
  }
  EXPECT_TRUE(series(runs, Names{"s1", "s2"}).partial);

  runs = {run_of(same), run_of(same)};
  runs[1].text.sha256 = {"b"};
  expect_part(notices_of(runs), "not shown to be of the same text");
}

TEST(Series, NoticesSayWhatIsNotTested) {
  const auto same = [](Index, Index) { return 1.0; };
  std::vector<Results> runs = {run_of(same), run_of(same)};
  runs[1].metric("held")->values[1] = kUndefined;
  for (Results& run : runs) {
    for (double& value : run.add_metric("exact", {"layer", "head"}, "1").values) value = 2;
    run.metric("held")->degrees_of_freedom.clear();
  }
  const std::string said = notices_of(runs);
  expect_part(said, "undefined at some step in this many heads, so without a change: held (1)\n");
  expect_part(said, "without standard errors, so not tested: exact\n");
  expect_part(said, "earlier version");
  expect_part(said, "s1, s2\n");
}

// Runs of two steps on four texts that differ by far more than the steps do.
std::vector<std::vector<Results>> steps_on_texts() {
  std::vector<std::vector<Results>> steps;
  for (const Numbers& moved : {Numbers{0, 0, 0, 0}, Numbers{0.1, 0.2, 0.3, 0.4}}) {
    std::vector<Results>& runs = steps.emplace_back();
    for (std::size_t text = 0; text < moved.size(); ++text) {
      const double value = 10.0 * static_cast<double>(text);
      runs.push_back(
          run_of([&](Index, Index head) { return value + (head == 2 ? moved[text] : 0); }));
      runs.back().text.names = {std::string(1, "abcd"[text])};
      runs.back().text.sha256 = {std::string(1, "abcd"[text])};
    }
  }
  return steps;
}

TEST(Series, ChangesOnSeveralTextsAreThoseOfEachTextByItself) {
  std::vector<std::vector<Results>> steps = steps_on_texts();
  std::ranges::reverse(steps[1]);
  const Results joined = headgauge::series(steps, Names{"s0", "s10"});
  const Estimate change = joined.require_metric("series_change").at({0, 2, 0});
  EXPECT_NEAR(change.value, 0.25, 1e-12);
  EXPECT_NEAR(change.standard_error, std::sqrt(0.05 / 3 / 4), 1e-12);
  EXPECT_EQ(change.degrees_of_freedom, 3);
  const Estimate slope = joined.require_metric("series_slope").at({0, 2, 0});
  EXPECT_NEAR(slope.value, 0.025, 1e-12);
  EXPECT_NEAR(slope.standard_error, change.standard_error / 10, 1e-12);
  EXPECT_NEAR(joined.at("held", {0, 2, 1}), 15.25, 1e-12);
  EXPECT_GT(joined.require_metric("held").at({0, 2, 1}).standard_error, 6) << "the texts differ";
  EXPECT_NEAR(change.p, 0.030466, 1e-4) << "2 * stats.t.sf(3.873, 3)";
  EXPECT_EQ(joined.at("series_half_step", {0, 2, 0}), 10);
  EXPECT_EQ(joined.settings["pairs"], 4);
  EXPECT_EQ(joined.settings["runs"][1]["text"].size(), 4U);
  EXPECT_EQ(joined.text.sha256.size(), 4U);
  expect_part(joined.summary.front().text,
              "at 64 tokens, on 4 texts, each by itself: 2 of 6 values");
  EXPECT_TRUE(joined.notices.empty()) << joined.notices.front();
}

TEST(Series, JoinsTheMetricsThatAllTextsHave) {
  std::vector<std::vector<Results>> steps = steps_on_texts();
  for (std::vector<Results>& runs : steps) {
    for (Results& run : runs) {
      LabelledArray& some = run.add_metric("of_some_texts", {"layer", "head"}, "1");
      const bool defined = run.text.names.front() != "c";
      some.values.assign(some.values.size(), defined ? 1 : kUndefined);
    }
  }
  const Names names = {"s0", "s10"};
  const Results joined = headgauge::series(steps, names);
  EXPECT_EQ(joined.coord_names("series_metric").size(), 1U);
  EXPECT_EQ(joined.coord_names("series_metric")[0], "held");
  EXPECT_EQ(joined.notices.back(),
            "left out, for some of the texts lack them or have other labels: of_some_texts");
  for (std::vector<Results>& runs : steps) runs[3].set_coord("length", Numbers{32, 48});
  expect_part(thrown<BadInputError>([&] { headgauge::series(steps, names); }),
              "s0: expected one length for all texts, found 64 and 48");
}

TEST(Series, RefusesTextsThatAStepLacks) {
  std::vector<std::vector<Results>> steps = steps_on_texts();
  const Names names = {"s0", "s10"};
  const auto refused = [&] {
    return thrown<BadInputError>([&] { headgauge::series(steps, names); });
  };
  steps[1][2].text.sha256 = {"e"};
  expect_part(refused(), "s10: expected one result on the text c, found 0");
  steps[1].pop_back();
  expect_part(refused(), "s10: expected as many results as the others, 4 or more, found 3");
}

TEST(Series, HasTheFlagsOfTheLastStep) {
  const auto same = [](Index, Index) { return 1.0; };
  std::vector<Results> runs = {run_of(same), run_of(same)};
  runs[0].flags.resize(2);
  runs[1].flags.emplace_back().name = "sink";
  const Results joined = series(runs, Names{"s1", "s2"});
  ASSERT_EQ(joined.flags.size(), 1U);
  EXPECT_EQ(joined.flags[0].name, "sink");
}

}  // namespace
}  // namespace headgauge
