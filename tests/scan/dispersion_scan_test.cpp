// Slopes and forecasts of whole scans: heads whose laws are built in, and the demo model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "headgauge/headgauge.hpp"
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
  const Results results = scan_capacity(*source, {32, 64, 128});
  constexpr Index kUniform = 0, kOneHot = 4;
  EXPECT_NEAR(results.at("entropy_slope", {0, kUniform}), 1, 1e-5);
  EXPECT_NEAR(results.at("entropy_slope", {0, kOneHot}), 0, 1e-5);
  EXPECT_NEAR(results.at("max_weight_slope", {0, kUniform}), -1, 1e-5);
  EXPECT_NEAR(results.at("max_weight_slope", {0, kOneHot}), 0, 1e-5);
  const LabelledArray& slope = *results.metric("entropy_slope");
  EXPECT_LT(slope.standard_error[kUniform], 1e-5);
  EXPECT_LT(slope.standard_error[kOneHot], 1e-5);
  const std::vector<double> lengths = {256, 512, 1024};
  ASSERT_EQ(std::get<std::vector<double>>(results.coord("forecast_length")->labels()), lengths);
  const LabelledArray& forecast = *results.metric("effective_tokens_forecast");
  for (Index f = 0; f < 3; ++f) {
    const double last = lengths[static_cast<std::size_t>(f)];
    const double mean = (1.5 * last + 1) / 2;  // of the rows last/2 < t <= last, with t keys each
    EXPECT_NEAR(results.at("effective_tokens_forecast", {0, kUniform, f}), mean, 1e-4 * mean);
    EXPECT_NEAR(results.at("effective_tokens_forecast", {0, kOneHot, f}), 1, 1e-4);
    EXPECT_LT(forecast.standard_error[static_cast<std::size_t>(kUniform * 3 + f)], 2e-4 * mean);
    EXPECT_LT(forecast.standard_error[static_cast<std::size_t>(kOneHot * 3 + f)], 2e-4);
  }
  EXPECT_EQ(results.at("forecast_coverage", {}), 1);
  EXPECT_TRUE(results.notices.empty());
}

TEST(DispersionScan, IsNullWhereThereAreTooFewOctaves) {
  const testing::TemporaryFolder folder("phantom-dispersion-short");
  const Results results = scan_capacity(*phantom_source(folder), {4});
  EXPECT_TRUE(std::isnan(results.at("entropy_slope", {0, 0})));
  EXPECT_TRUE(std::isnan(results.at("effective_tokens_forecast", {0, 0, 0})));
  EXPECT_TRUE(std::isnan(results.at("forecast_coverage", {})));
  const Results longer = scan_capacity(*phantom_source(folder), {8});
  EXPECT_NEAR(longer.at("entropy_slope", {0, 0}), 1, 1e-5);
}

// Rows that put no weight on any key (ReLU of zero logits) have no entropy and no largest weight.
TEST(DispersionScan, RowsWithoutWeightTakeNoPart) {
  const testing::TemporaryFolder folder("phantom-dispersion-relu");
  const auto source = phantom_source(folder);
  const Results results = scan_capacity(*source, {128}, "relu:alpha=0");
  EXPECT_TRUE(std::isnan(results.at("entropy_slope", {0, 0})));
  EXPECT_TRUE(std::isnan(results.at("max_weight_slope", {0, 0})));
  EXPECT_NEAR(results.at("entropy_slope", {0, 4}), 0, 1e-6);
  EXPECT_NEAR(results.at("max_weight_slope", {0, 4}), 0, 1e-6);
}

TEST(DispersionScan, ForecastsOfTheDemoModelAreReliableOnItsText) {
  const std::string model = testing::source_path("demo/model");
  if (!testing::exists(model + "/model.safetensors")) GTEST_SKIP() << "no demo model";
  const std::string text = read_text_file(testing::source_path("demo/text.txt"));
  const std::vector<int> ids = Tokenizer::load(model).encode(text);
  const auto source = [&] {
    return make_model_source(resolve_model(model), {{"text.txt", ids, ""}}, {});
  };
  const Results results = scan_capacity(*source(), {128, 1024});
  EXPECT_GE(results.at("forecast_coverage", {}), .8);
  EXPECT_TRUE(results.notices.empty());

  // Scanned up to 512 only, the forecast of 1024 is the one that was judged.
  const Results shorter = scan_capacity(*source(), {128, 512});
  ScanOptions weights;
  weights.lengths = {1024};
  weights.measures = {"weights"};
  const Results measured = scan(*source(), weights);
  const LabelledArray& forecast = *shorter.metric("effective_tokens_forecast");
  const auto last = measured.coord_size("position") - 1;
  int held = 0;
  std::vector<double> widths;
  for (Index layer = 0; layer < 6; ++layer) {
    for (Index head = 0; head < 6; ++head) {
      const auto cell = static_cast<std::size_t>((layer * 6 + head) * 3);
      const double value = measured.at("effective_tokens_by_position", {layer, head, last});
      held += std::abs(value - forecast.values[cell]) <= 2 * forecast.standard_error[cell];
      widths.push_back(forecast.standard_error[cell] / forecast.values[cell]);
    }
  }
  EXPECT_NEAR(held / 36.0, results.at("forecast_coverage", {}), 1e-12);
  // The bars say something: half of them are below a quarter of the value.
  std::ranges::nth_element(widths, widths.begin() + 18);
  EXPECT_LT(widths[18], .25);
}

}  // namespace
}  // namespace headgauge
