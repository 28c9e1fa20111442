#include "headgauge/cells.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "results/made_results.hpp"
#include "results/plain_array.hpp"

namespace headgauge {
namespace {

TEST(Rounded, ThreeDigitsAboveOneTwoDecimalsBelow) {
  const std::vector<std::pair<double, std::string>> cases{
      {0, "0.00"},     {0.004, "0.00"},     {-0.004, "0.00"},   {0.0051, "0.01"},
      {0.999, "1.00"}, {9.994, "9.99"},     {9.9951, "10.0"},   {99.94, "99.9"},
      {99.951, "100"}, {1234.5678, "1235"}, {-9.9951, "-10.0"}, {1e15, "1000000000000000"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(rounded(value), text) << value;
  EXPECT_EQ(rounded(kUndefined), "-");
  EXPECT_EQ(rounded(std::numeric_limits<double>::infinity()), "-");
}

TEST(FindCell, TakesTheLongestLengthUnlessAnotherIsPicked) {
  const Results r = made_results();
  EXPECT_EQ(find_cell(r, "loss", {})->value, 4.25);
  EXPECT_EQ(find_cell(r, "loss", {{"length", 0}})->value, 5.5);
  const auto cell = find_cell(r, "entropy_with_sinks", {{"head", 1}, {"layer", 0}});
  EXPECT_EQ(cell->index, (std::vector<Index>{0, 1, 1}));
  EXPECT_EQ(cell->value, 0.1 * 3);
  EXPECT_EQ(cell->standard_error, 1.0 / 3.0);
  EXPECT_EQ(find_cell(r, "cache_bytes", {})->value, 12345);
}

TEST(FindCell, TakesTheOutcomeTextUnlessAnotherIsPicked) {
  Results r;
  r.set_coord(kOutcome, std::vector<std::string>{"keys", kText});
  r.set_coord("length", std::vector<double>{8, 16});
  LabelledArray& loss = r.add_metric("loss", {kOutcome, "length"}, "nats");
  loss.values = {1, 2, 3, 4};
  ASSERT_TRUE(find_cell(r, "loss", {}));
  EXPECT_EQ(find_cell(r, "loss", {})->value, 4);
  EXPECT_EQ(find_cell(r, "loss", {})->index, (std::vector<Index>{1, 1}));
  EXPECT_EQ(find_cell(r, "loss", {{kOutcome, 0}})->value, 2);
  EXPECT_EQ(find_cell(r, "loss", {{"length", 0}})->value, 3);
  loss.values[3] = kUndefined;
  EXPECT_FALSE(find_cell(r, "loss", {})) << "no other outcome stands in for the text";
  Results without_text;
  without_text.set_coord(kOutcome, std::vector<std::string>{kAnswers, "keys"});
  without_text.add_metric("right", {kOutcome}, "1").values = {1, 2};
  EXPECT_FALSE(find_cell(without_text, "right", {}));
  EXPECT_EQ(find_cell(without_text, "right", {{kOutcome, 1}})->value, 2);
}

TEST(FindCell, HasEveryPartOfTheEstimate) {
  Results r;
  r.set_coord("length", std::vector<double>{8});
  LabelledArray& m = r.add_metric("m", {"length"}, "1");
  m.with_standard_errors().with_intervals().with_p().with_rows();
  const Estimate all{.value = 1,
                     .standard_error = 0.25,
                     .rows = 9,
                     .degrees_of_freedom = 8,
                     .low = 0.5,
                     .high = 1.5,
                     .p = 0.125};
  m.set({0}, all);
  expect_cell(*find_cell(r, "m", {}), all);
}

Results with_tasks() {
  Results r;
  r.set_coord(kOutcome, std::vector<std::string>{kText, kReplay, "keys", "recall"});
  r.add_metric("does_task", {kOutcome}, "1").values = {kUndefined, kUndefined, 0, 1};
  return r;
}

TEST(TasksOf, AreTheOutcomesOfWhichItIsKnownWhetherTheModelDoesThem) {
  EXPECT_TRUE(tasks_of(Results{}).empty());
  Results r = with_tasks();
  EXPECT_EQ(tasks_of(r), (std::vector<Index>{2, 3}));
  r.metric("does_task")->values[2] = kUndefined;
  EXPECT_EQ(tasks_of(r), (std::vector<Index>{3}));
  r.metrics.clear();
  EXPECT_TRUE(tasks_of(r).empty());
}

TEST(ReplayOf, IsTheOutcomeOfThatNameUnlessItIsATask) {
  EXPECT_EQ(replay_of(Results{}), std::nullopt);
  Results r = with_tasks();
  EXPECT_EQ(replay_of(r), 1);
  r.metric("does_task")->values[1] = 0;
  EXPECT_EQ(replay_of(r), std::nullopt);
  r.metrics.clear();
  EXPECT_EQ(replay_of(r), 1);
  r.set_coord(kOutcome, std::vector<std::string>{kText, "replay (task)"});
  EXPECT_EQ(replay_of(r), std::nullopt);
}

TEST(OutcomesOf, AreTheLabelsInTheirOrder) {
  EXPECT_TRUE(outcomes_of(Results{}).empty());
  EXPECT_EQ(outcomes_of(with_tasks()),
            (std::vector<std::string>{kText, kReplay, "keys", "recall"}));
}

TEST(FindCell, SaysWhereNoneWasFound) {
  Results r = made_results();
  r.add_metric("critical_n", {"length"}, "keys").values = {-1, 3};
  EXPECT_TRUE(find_cell(r, "critical_n", {{"length", 0}})->is_none);
  EXPECT_FALSE(find_cell(r, "critical_n", {})->is_none);
  // A metric of a user's own says it in its own way; -1 alone means nothing.
  r.add_metric("mine", {"length"}, "1").values = {-1, 0};
  r.metric("mine")->none = 0;
  EXPECT_FALSE(find_cell(r, "mine", {{"length", 0}})->is_none);
  EXPECT_TRUE(find_cell(r, "mine", {})->is_none);
}

TEST(FindCell, IsNothingWhereThereIsNothing) {
  const Results r = made_results();
  EXPECT_FALSE(find_cell(r, "nothing", {}));
  EXPECT_FALSE(find_cell(r, "entropy_with_sinks", {{"layer", 0}})) << "no head was picked";
  EXPECT_FALSE(find_cell(r, "mass_90_with_sinks", {{"layer", 0}, {"head", 0}})) << "undefined";
}

TEST(MeasuredHeads, ByAnyDefinedCellWithTheirLabels) {
  Results r = made_results();
  r.set_coord("layer", std::vector<double>{5, 8});
  r.set_coord("head", std::vector<double>{1, 2, 3});
  for (const char* name : {"entropy_with_sinks", "distance", "mass_90_with_sinks"}) {
    for (double& value : r.metric(name)->values) value = kUndefined;
  }
  EXPECT_TRUE(measured_heads(r).empty());
  r.metric("distance")->values[4] = 0;             // layer 5, head 2, first length
  r.metric("mass_90_with_sinks")->values[11] = 1;  // layer 8, head 3
  const auto heads = measured_heads(r);
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0].text(), "5.2");
  EXPECT_EQ(heads[1].text(), "8.3");
  EXPECT_EQ(heads[1].layer_index, 1);
  EXPECT_EQ(heads[1].head_index, 2);
}

TEST(FindLabel, AllowsForTheRoundingOfAPower) {
  Results r;
  r.set_coord("temperature", std::vector<double>{0.01, std::pow(10.0, -1 + 1e-15), 1});
  EXPECT_EQ(find_label(r, "temperature", 0.1), 1);
  EXPECT_EQ(find_label(r, "temperature", 0.2), std::nullopt);
  EXPECT_EQ(find_label(r, "epsilon", 0.1), std::nullopt);
}

TEST(JudgedTopN, IsTwentyOrTheLargestBelowButNotOne) {
  const auto judged = [](std::vector<double> sizes) {
    Results r;
    r.set_coord("top_n", std::move(sizes));
    return judged_top_n(r);
  };
  EXPECT_EQ(judged({1, 5, 20, 100}), 2);
  EXPECT_EQ(judged({1, 5, 21}), 1);
  EXPECT_EQ(judged({1, 100}), std::nullopt);
  EXPECT_EQ(judged_top_n(Results{}), std::nullopt);
}

}  // namespace
}  // namespace headgauge
