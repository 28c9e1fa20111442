// Slopes and forecasts of whole scans: heads whose laws are built in, and the demo model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "headgauge/headgauge.hpp"
#include "phantom/phantom.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

Results scan_capacity(HeadSource& source, std::vector<int> lengths,
                      const std::string& normalizer = "softmax") {
  ScanOptions options;
  options.lengths = std::move(lengths);
  options.measures = {"dispersion"};
  options.normalizer = normalizer;
  options.threads = 2;
  return scan(source, options);
}

// A source is scanned once.
std::unique_ptr<HeadSource> phantom_source(const testing::TemporaryFolder& folder) {
  write_phantom(folder.path(), 4.0);
  return make_model_source(resolve_model(folder.path()),
                           {{"tokens", read_token_ids(folder / "tokens.txt"), ""}}, {});
}

TEST(DispersionScan, PhantomIsForecastRightAndReliably) {
  const testing::TemporaryFolder folder("phantom-dispersion");
  const auto source = phantom_source(folder);
  const Results results = scan_capacity(*source, {16, 32, 64});
  constexpr Index kUniform = 0, kOneHot = 4;
  EXPECT_NEAR(results.at("entropy_slope_with_sinks", {0, kUniform}), 1, 1e-5);
  EXPECT_NEAR(results.at("entropy_slope_with_sinks", {0, kOneHot}), 0, 1e-5);
  EXPECT_NEAR(results.at("max_weight_slope_with_sinks", {0, kUniform}), -1, 1e-5);
  EXPECT_NEAR(results.at("max_weight_slope_with_sinks", {0, kOneHot}), 0, 1e-5);
  const LabelledArray& slope = *results.metric("entropy_slope_with_sinks");
  EXPECT_LT(slope.standard_error[kUniform], 1e-5);
  EXPECT_LT(slope.standard_error[kOneHot], 1e-5);
  const std::vector<double> lengths = {128, 256, 512};
  ASSERT_EQ(std::get<std::vector<double>>(results.coord("forecast_length")->labels()), lengths);
  const double mean = (1.5 * 128 + 1) / 2;  // of the rows 64 < t <= 128, with t keys each
  const LabelledArray& forecast = results.require_metric("effective_tokens_forecast_with_sinks");
  EXPECT_TRUE(forecast.standard_error.empty());
  for (const auto part : {&Estimate::value, &Estimate::low, &Estimate::high}) {
    EXPECT_NEAR(forecast.at({0, kUniform, 0}).*part, mean, 5e-4 * mean);
    EXPECT_NEAR(forecast.at({0, kOneHot, 0}).*part, 1, 5e-4);
    // The phantom has 128 positions.
    for (Index f = 1; f < 3; ++f) {
      for (Index head = 0; head < 5; ++head) {
        EXPECT_TRUE(std::isnan(forecast.at({0, head, f}).*part));
      }
    }
  }
  EXPECT_EQ(results.at("forecast_coverage", {}), 1);
  EXPECT_TRUE(results.notices.empty());
}

TEST(DispersionScan, IsNullWhereThereAreTooFewOctaves) {
  const testing::TemporaryFolder folder("phantom-dispersion-short");
  const Results results = scan_capacity(*phantom_source(folder), {4});
  EXPECT_TRUE(std::isnan(results.at("entropy_slope_with_sinks", {0, 0})));
  EXPECT_TRUE(std::isnan(results.at("effective_tokens_forecast_with_sinks", {0, 0, 0})));
  EXPECT_TRUE(std::isnan(results.at("forecast_coverage", {})));
  const Results longer = scan_capacity(*phantom_source(folder), {8});
  EXPECT_NEAR(longer.at("entropy_slope_with_sinks", {0, 0}), 1, 1e-5);
}

// Rows that put no weight on any key (softpick of zero logits) have no entropy and no largest
// weight.
TEST(DispersionScan, RowsWithoutWeightTakeNoPart) {
  const testing::TemporaryFolder folder("phantom-dispersion-softpick");
  const auto source = phantom_source(folder);
  const Results results = scan_capacity(*source, {128}, "softpick");
  EXPECT_TRUE(std::isnan(results.at("entropy_slope_with_sinks", {0, 0})));
  EXPECT_TRUE(std::isnan(results.at("max_weight_slope_with_sinks", {0, 0})));
  EXPECT_NEAR(results.at("entropy_slope_with_sinks", {0, 4}), 0, 1e-6);
  EXPECT_NEAR(results.at("max_weight_slope_with_sinks", {0, 4}), 0, 1e-6);
}

TEST(DispersionScan, ForecastsOfTheDemoModelAreJudgedByTheLastOctave) {
  const std::string model = testing::source_path("demo/model");
  if (!testing::exists(model + "/model.safetensors")) GTEST_SKIP() << "no demo model";
  const std::string text = read_text_file(testing::source_path("demo/text.txt"));
  const std::vector<int> ids = Tokenizer::load(model).encode(text);
  const auto source = [&] {
    return make_model_source(resolve_model(model), {{"text.txt", ids, ""}}, {});
  };
  const Results results = scan_capacity(*source(), {128, 1024});
  // Nothing is forecast beyond its 1024 positions, and so nothing is unreliable.
  EXPECT_LT(results.at("forecast_coverage", {}), .8);
  EXPECT_TRUE(results.notices.empty());
  for (const double value : results.metric("effective_tokens_forecast_with_sinks")->values) {
    EXPECT_TRUE(std::isnan(value));
  }

  // Scanned up to 512 only, the forecast of 1024 is the one that was judged.
  const Results shorter = scan_capacity(*source(), {128, 512});
  ScanOptions weights;
  weights.lengths = {1024};
  weights.measures = {"weights"};
  const Results measured = scan(*source(), weights);
  const auto last = measured.coord_size("position") - 1;
  int held = 0;
  std::vector<double> widths;
  for (Index layer = 0; layer < 6; ++layer) {
    for (Index head = 0; head < 6; ++head) {
      const Estimate forecast =
          shorter.require_metric("effective_tokens_forecast_with_sinks").at({layer, head, 0});
      EXPECT_LE(forecast.low, forecast.value);
      EXPECT_LE(forecast.value, forecast.high);
      const double found =
          measured.at("effective_tokens_with_sinks_by_position", {layer, head, last});
      const double slack = 1e-4 * found;  // of single precision
      held += forecast.low - slack <= found && found <= forecast.high + slack;
      widths.push_back(forecast.high / forecast.low);
    }
  }
  EXPECT_GE(shorter.at("forecast_coverage", {}), .8);
  EXPECT_NEAR(held / 36.0, results.at("forecast_coverage", {}), 1e-12);
  // The intervals say something: half of them know the value within a factor of two.
  std::ranges::nth_element(widths, widths.begin() + 18);
  EXPECT_LT(widths[18], 4);
}

}  // namespace
}  // namespace headgauge
