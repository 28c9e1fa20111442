// Runs side by side, along a new dimension after layer and head.
#include "scan/passes.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace headgauge {
namespace {

Results run_with(double offset, double critical) {
  Results run;
  run.set_coord("layer", std::vector<double>{0, 1});
  run.set_coord("head", std::vector<double>{0});
  run.set_coord("length", std::vector<double>{8, 16});
  run.set_coord("position", std::vector<double>{8, 16});
  LabelledArray& entropy =
      run.add_metric("entropy_with_sinks", {"layer", "head", "length"}, "nats");
  entropy.values = {offset, offset + 1, offset + 2, offset + 3};
  entropy.standard_error = {3, 3, kUndefined, 3};
  entropy.rows = {8, 16, 8, 16};
  run.add_metric("entropy_with_sinks_by_position", {"layer", "head", "position"}, "nats");
  run.add_metric("critical_n", {"length"}, "keys").values = {critical, 5};
  LabelledArray& forecast =
      run.add_metric("effective_tokens_forecast_with_sinks", {"layer", "head"}, "keys")
          .with_intervals();
  forecast.values = {offset + 1, offset + 2};
  forecast.low = {offset, offset + 1};
  forecast.high = {offset + 3, offset + 4};
  return run;
}

Results merged_runs() {
  const Results original = run_with(1, -1), intervention = run_with(10, 14);
  Results merged;
  merged.coords = original.coords;
  merged.set_coord("normalizer", std::vector<std::string>{"original", "intervention"});
  const Results* runs[] = {&original, &intervention};
  merge_runs(
      runs, "normalizer", [](const LabelledArray&) { return true; }, merged);
  return merged;
}

TEST(MergeRuns, TheNewDimensionComesAfterLayerAndHead) {
  const Results merged = merged_runs();
  const LabelledArray& entropy = *merged.metric("entropy_with_sinks");
  EXPECT_EQ(entropy.dim_names(),
            (std::vector<std::string>{"layer", "head", "normalizer", "length"}));
  EXPECT_EQ(entropy.values, (std::vector<double>{1, 2, 10, 11, 3, 4, 12, 13}));
  EXPECT_EQ(entropy.rows, (std::vector<std::int64_t>{8, 16, 8, 16, 8, 16, 8, 16}));
  EXPECT_EQ(merged.metric("critical_n")->dim_names(),
            (std::vector<std::string>{"normalizer", "length"}));
}

TEST(MergeRuns, ChangesAreAgainstTheFirstRun) {
  const Results merged = merged_runs();
  const LabelledArray& change = *merged.metric("entropy_with_sinks_change");
  EXPECT_EQ(change.values, (std::vector<double>{0, 0, 9, 9, 0, 0, 9, 9}));
  EXPECT_EQ(change.standard_error[0], 0);
  EXPECT_DOUBLE_EQ(change.standard_error[2], std::hypot(3.0, 3.0));
  EXPECT_TRUE(std::isnan(change.standard_error[4]) && std::isnan(change.standard_error[6]));
  EXPECT_EQ(merged.metric("entropy_with_sinks_by_position_change"), nullptr);
  // An end of an interval is no quantity of its own.
  const LabelledArray& forecast = merged.require_metric("effective_tokens_forecast_with_sinks");
  EXPECT_EQ(forecast.low, (std::vector<double>{1, 10, 2, 11}));
  EXPECT_EQ(forecast.high, (std::vector<double>{4, 13, 5, 14}));
  const LabelledArray& of_forecast =
      merged.require_metric("effective_tokens_forecast_with_sinks_change");
  EXPECT_EQ(of_forecast.values, (std::vector<double>{0, 9, 0, 9}));
  EXPECT_TRUE(of_forecast.low.empty() && of_forecast.high.empty());
}

TEST(MergeRuns, NoneFoundHasNoChange) {
  const Results merged = merged_runs();
  const LabelledArray& change = *merged.metric("critical_n_change");
  EXPECT_TRUE(std::isnan(change.values[0]) && std::isnan(change.values[2]));
  EXPECT_EQ(change.values[3], 0);
  EXPECT_TRUE(change.standard_error.empty());
}

}  // namespace
}  // namespace headgauge
