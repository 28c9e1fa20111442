// Bidirectional sources: a pass for each length, side by side.
#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/compare.hpp"
#include "made_source.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

const std::string kTiny = "tests/golden/bert/plain";  // 2 layers of 4 heads, 97 positions, 41 ids

std::vector<int> made_ids(int count, int step) {
  std::vector<int> ids;
  for (int i = 0; i < count; ++i) ids.push_back((i * i * step + i) % 41);
  return ids;
}

std::unique_ptr<ModelSource> tiny_source(std::vector<Document> documents, int threads = 2) {
  return testing::open_model(std::move(documents), {.threads = threads}, kTiny);
}

Document framed(int count, int step = 7) {
  Document document;
  document.name = "made";
  document.tokens = made_ids(count, step);
  document.before = {1};
  document.after = {2, 3};
  return document;
}

ScanOptions tiny_options(std::vector<int> lengths, int threads = 2) {
  ScanOptions options;
  options.lengths = std::move(lengths);
  options.threads = threads;
  options.measure.top_n = {1, 5, 20};
  options.measure.critical_max = 20;
  options.measure.temperatures = {0.1, 1.0};
  return options;
}

// `whole` at `length` against the results of that length alone.
void expect_length(const Results& whole, Index length, const Results& alone) {
  int compared = 0;
  for (const auto& [name, metric] : alone.metrics) {
    const bool by_length = metric.has_dim("length");
    const bool longest = length + 1 == whole.coord_size("length");
    if (!by_length && !longest) continue;
    if (name.find("slope") != std::string::npos || name.find("forecast") != std::string::npos) {
      continue;  // of several lengths
    }
    const LabelledArray* merged = whole.metric(name);
    ASSERT_NE(merged, nullptr) << name;
    const LabelledArray found = by_length ? merged->isel("length", length) : *merged;
    // A longer text has more octaves, which have no value at this length.
    const std::size_t of_alone = metric.has_dim("copy_gap") ? alone.coord_size("copy_gap") : 1;
    const std::size_t of_whole = metric.has_dim("copy_gap") ? whole.coord_size("copy_gap") : 1;
    ASSERT_EQ(found.values.size() / of_whole, metric.values.size() / of_alone) << name;
    for (std::size_t i = 0; i < found.values.size(); ++i) {
      const std::size_t octave = i % of_whole;
      const Estimate expected =
          octave < of_alone ? metric.at_offset(i / of_whole * of_alone + octave) : Estimate{};
      const Estimate cell = found.at_offset(i);
      for (const auto part : {&Estimate::value, &Estimate::low, &Estimate::high, &Estimate::p}) {
        EXPECT_TRUE(same(cell.*part, expected.*part)) << name << " cell " << i;
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(Passes, EveryLengthIsAScanOfItsOwn) {
  const std::vector<int> lengths = {16, 40, 97};
  auto source = tiny_source({framed(200)});
  const Results whole = scan(*source, tiny_options(lengths));
  EXPECT_EQ(std::get<std::vector<double>>(whole.coord("length")->labels()),
            (std::vector<double>{16, 40, 97}));
  EXPECT_EQ(whole.settings["lengths"].get<std::vector<int>>(), lengths);
  EXPECT_EQ(whole.coord_numbers("position").back(), 97);
  for (std::size_t l = 0; l < lengths.size(); ++l) {
    Document cut;
    cut.name = "made";
    cut.tokens = {1};
    const auto ids = made_ids(lengths[l] - 3, 7);
    cut.tokens.insert(cut.tokens.end(), ids.begin(), ids.end());
    cut.tokens.insert(cut.tokens.end(), {2, 3});
    auto alone = tiny_source({cut});
    expect_length(whole, static_cast<Index>(l), scan(*alone, tiny_options({lengths[l]})));
  }
  EXPECT_EQ(whole.metric("loss"), nullptr);
}

TEST(Passes, SameBitsOnAnyNumberOfThreads) {
  auto one = tiny_source({framed(200)}, 1), three = tiny_source({framed(200)}, 3);
  const Results a = scan(*one, tiny_options({16, 64}, 1));
  const Results b = scan(*three, tiny_options({16, 64}, 3));
  testing::expect_same_values(b, a);
}

// A short document takes part where it is long enough, and only there.
TEST(Passes, ShortDocumentsLeaveTheLongPasses) {
  auto both = tiny_source({framed(30, 5), framed(90, 7)});
  const Results results = scan(*both, tiny_options({16, 64}));
  EXPECT_EQ(results.metric("entropy_with_sinks")->rows[0], 32);
  EXPECT_EQ(results.metric("entropy_with_sinks")->rows[1], 64);
  auto alone = tiny_source({framed(90, 7)});
  const Results longer = scan(*alone, tiny_options({64}));
  EXPECT_EQ(results.at("entropy_with_sinks", {1, 3, 1}),
            longer.at("entropy_with_sinks", {1, 3, 0}));
  EXPECT_EQ(testing::notices_with(results, "33 tokens and takes part only up to length 16"), 1);
}

TEST(Passes, NoRoomForWhatStandsAroundIsToldBeforeWorkBegins) {
  auto source = tiny_source({framed(90)});
  EXPECT_NO_THROW(scan(*source, tiny_options({3, 16})));
  struct Never final : Progress {
    void update(std::string_view, double, double) override { FAIL() << "work began"; }
  } never;
  EXPECT_THROW(scan(*source, tiny_options({2, 16}), &never), BadInputError);
}

// Heads of one layer that are uniform, and that give one key nearly everything.
class TwoHeads final : public SourceOfHeads {
 public:
  TwoHeads() : SourceOfHeads(2, 512, Visibility::full()), queries_(512, 1), keys_(512, 1) {
    std::fill_n(queries_.data(), 512, 1.0f);
    std::fill_n(keys_.data(), 512, 0.0f);
    keys_(0, 0) = 60;
    info_.head_dim = 1;
    heads_[1].kv_head = 1;
  }
  void set_context(Index length) override { length_ = length; }
  std::span<const HeadInput> layer(int, int) override {
    for (int h = 0; h < 2; ++h) {
      HeadInput& head = heads_[h];
      head.scale = h == 0 || length_ <= uniform_up_to ? 0.0f : 1.0f;
      head.queries = std::as_const(queries_).view().block(0, length_, 0, 1);
      head.keys = std::as_const(keys_).view().block(0, length_, 0, 1);
    }
    return heads_;
  }
  void describe(Results& results) const override {
    results.model.positions = model.positions;
    results.model.trained_length = model.trained_length;
  }

  ModelRecord model;
  Index uniform_up_to = 0;  // tokens, both heads

 private:
  Matrix<float> queries_, keys_;
  Index length_ = 512;
};

Results forecasts_of(TwoHeads& source) {
  ScanOptions options = tiny_options({8, 16, 32, 64, 128, 256, 512});
  options.measures = {"dispersion"};
  return scan(source, options);
}

// ... so that the slopes are 1 and 0, -1 and 0, and the forecasts F and 1.
TEST(Passes, SlopesAndForecastsFollowTheLengths) {
  TwoHeads source;
  const Results results = forecasts_of(source);
  EXPECT_NEAR(results.at("entropy_slope_with_sinks", {0, 0}), 1, 1e-6);
  EXPECT_NEAR(results.at("entropy_slope_with_sinks", {0, 1}), 0, 1e-6);
  EXPECT_NEAR(results.at("max_weight_slope_with_sinks", {0, 0}), -1, 1e-6);
  EXPECT_NEAR(results.at("max_weight_slope_with_sinks", {0, 1}), 0, 1e-6);
  for (Index f = 0; f < 3; ++f) {
    EXPECT_NEAR(results.at("effective_tokens_forecast_with_sinks", {0, 0, f}), 1024 << f, 0.02);
    EXPECT_NEAR(results.at("effective_tokens_forecast_with_sinks", {0, 1, f}), 1, 1e-4);
  }
  EXPECT_EQ(results.at("forecast_coverage", {}), 1);
  for (const auto& [name, metric] : results.metrics) EXPECT_FALSE(name.starts_with("octave_"));
}

TEST(Passes, ForecastsEndWithThePositionsOfTheModel) {
  for (const int positions : {512, 1024, 2047, 4096}) {
    TwoHeads source;
    source.model.positions = positions;
    const Results results = forecasts_of(source);
    for (Index f = 0; f < 3; ++f) {
      const Estimate forecast =
          results.require_metric("effective_tokens_forecast_with_sinks").at({0, 1, f});
      for (const double part : {forecast.value, forecast.low, forecast.high}) {
        EXPECT_EQ(std::isnan(part), (1024 << f) > positions);
      }
    }
    EXPECT_TRUE(results.notices.empty());
  }
}

TEST(Passes, SaysThatForecastsAreUnreliableWhereAHeadChanged) {
  TwoHeads source;
  source.uniform_up_to = 256;
  const Results results = forecasts_of(source);
  EXPECT_EQ(results.at("forecast_coverage", {}), .5);
  EXPECT_EQ(results.notices,
            std::vector<std::string>{
                "effective_tokens_forecast_with_sinks is unreliable here: fitted up to position "
                "256, its 95 % "
                "intervals contain the values measured up to 512 for only 1 of 2 heads"});
  source.model.positions = 512;
  EXPECT_TRUE(forecasts_of(source).notices.empty());
}

TEST(Passes, SaysOnceThatForecastsGoBeyondWhatWasLearnt) {
  TwoHeads source;
  source.model.trained_length = 1024;
  const Results results = forecasts_of(source);
  EXPECT_EQ(results.notices,
            std::vector<std::string>{
                "the model was trained on contexts of 1024 tokens: "
                "effective_tokens_forecast_with_sinks at "
                "2048, 4096 extrapolates the trend of its heads up to 512; it was not trained at "
                "these positions"});
  EXPECT_FALSE(std::isnan(results.at("effective_tokens_forecast_with_sinks", {0, 0, 2})));
  source.model.trained_length = 4096;
  EXPECT_TRUE(forecasts_of(source).notices.empty());
}

// Two lengths say nothing of a slope, and lengths too near each other count once.
TEST(Passes, TooFewLengthsForASlope) {
  for (const std::vector<int>& lengths : {std::vector{256, 512}, std::vector{300, 400, 500, 512}}) {
    TwoHeads source;
    ScanOptions options = tiny_options(lengths);
    options.measures = {"dispersion"};
    EXPECT_TRUE(std::isnan(scan(source, options).at("entropy_slope_with_sinks", {0, 0})));
  }
}

// Asks for a stop when a length begins.
class StopAt final : public Progress {
 public:
  explicit StopAt(std::string length) : length_(std::move(length)) {}
  void update(std::string_view what, double, double) override {
    if (what.starts_with(length_)) source_.request_stop();
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::string length_;
  std::stop_source source_;
};

TEST(Passes, AnInterruptedScanKeepsTheLengthsThatWereFinished) {
  auto source = tiny_source({framed(200)});
  StopAt stop("length 32");
  const Results results = scan(*source, tiny_options({16, 32, 64, 97}), &stop, stop.token());
  EXPECT_TRUE(results.partial);
  EXPECT_EQ(results.layers_done, 2);
  EXPECT_EQ(std::get<std::vector<double>>(results.coord("length")->labels()),
            (std::vector<double>{64, 97}));
  auto again = tiny_source({framed(200)});
  const Results whole = scan(*again, tiny_options({64, 97}));
  EXPECT_EQ(results.metric("separability_with_sinks")->values,
            whole.metric("separability_with_sinks")->values);
  ASSERT_FALSE(results.notices.empty());
  EXPECT_EQ(results.notices.back(), "interrupted: the lengths 16, 32 are left out");

  auto early = tiny_source({framed(200)});
  StopAt at_once("length 97");
  const Results little = scan(*early, tiny_options({16, 97}), &at_once, at_once.token());
  EXPECT_TRUE(little.partial);
  EXPECT_LT(little.layers_done, 2);
}

CompareOptions compare_options(std::vector<int> lengths, std::vector<std::string> normalizers,
                               Each each = Each::none) {
  CompareOptions options;
  options.scan = tiny_options(std::move(lengths));
  options.scan.measures = {"weights", "distance", "dispersion"};
  options.normalizers = std::move(normalizers);
  options.each = each;
  return options;
}

TEST(Passes, CompareIsAComparisonAtEachLength) {
  for (const Each each : {Each::none, Each::head}) {
    for (const bool patterns : {false, true}) {
      const std::string dimension = patterns ? "pattern" : "normalizer";
      const auto run = [&](std::vector<int> lengths) {
        auto source = tiny_source({framed(200)});
        CompareOptions options = compare_options(std::move(lengths), {"ssmax", "sparsemax"}, each);
        if (patterns) {
          options.normalizers.clear();
          options.patterns = {"window:size=8", "bigbird:window=4,random=4,global=2"};
        }
        return compare(*source, options, make_interventions(options, source->info()));
      };
      const Results whole = run({16, 40, 97});
      const Results shortest = run({16}), longest = run({97});
      expect_length(whole, 0, shortest);
      expect_length(whole, 2, longest);
      EXPECT_EQ(whole.metric("loss"), nullptr);
      EXPECT_EQ(whole.metric("kl"), nullptr);
      EXPECT_TRUE(
          std::ranges::none_of(whole.flags, [](const Flag& f) { return f.name == "recommended"; }));
      const LabelledArray& slope = *whole.metric("entropy_slope_with_sinks");
      const LabelledArray& change = *whole.metric("entropy_slope_with_sinks_change");
      EXPECT_EQ(slope.dim_names(), (std::vector<std::string>{"layer", "head", dimension}));
      EXPECT_FALSE(std::isnan(slope.values[0]));
      // Under a window the number of keys does not grow, and there is no slope.
      EXPECT_EQ(std::isnan(slope.values[1]), patterns);
      EXPECT_TRUE(same(change.values[1], slope.values[1] - slope.values[0]));
      // Whatever follows from the lengths has its change, as it does of a causal model.
      EXPECT_NE(whole.metric("forecast_coverage_change"), nullptr);
      const LabelledArray& forecast = whole.require_metric("effective_tokens_forecast_with_sinks");
      EXPECT_FALSE(forecast.low.empty() || forecast.high.empty());
      const LabelledArray& of_forecast =
          whole.require_metric("effective_tokens_forecast_with_sinks_change");
      EXPECT_TRUE(of_forecast.low.empty() && of_forecast.high.empty());
    }
  }
}

TEST(Passes, CompareSaysWhyThereIsNoLoss) {
  auto source = tiny_source({framed(200)});
  const CompareOptions options = compare_options({16, 32}, {"ssmax"});
  const auto interventions = make_interventions(options, source->info());
  const Results results = compare(*source, options, interventions);
  EXPECT_EQ(
      testing::notices_with(results, "there is no loss and no divergence, and no recommendation"),
      1);
  for (const SummaryLine& line : summarize_comparison(results)) {
    expect_no_part(line.text, "ecommend");
  }
}

TEST(Passes, NormalizersThatGoByPositionAreForCausalModels) {
  auto source = tiny_source({framed(200)});
  ScanOptions options = tiny_options({16, 32});
  options.normalizer = "logn-qwen";
  EXPECT_THROW(scan(*source, options), UsageError);
  EXPECT_THROW(make_interventions(compare_options({16}, {"logn-qwen:train=8"}), source->info()),
               UsageError);
}

// A dump of a bidirectional model: at a shorter length its heads attend among the first keys.
TEST(Passes, ADumpIsCutToItsFirstTokens) {
  const testing::TemporaryFolder folder("dump-passes");
  constexpr Index kLength = 48, kCut = 20;
  std::vector<float> q(2 * kLength * 4), k(q.size()), v(q.size()), x(kLength * 4);
  float draw = 0.3f;
  for (auto* values : {&q, &k, &v, &x}) {
    for (float& value : *values) value = draw = 3.7f * draw * (1 - draw);
  }
  const auto write = [&](const std::string& name, Index length) {
    std::vector<std::vector<float>> kept;
    for (const auto* values : {&q, &k, &v, &x}) {
      std::vector<float> rows;
      const auto heads = static_cast<Index>(values->size()) / (kLength * 4);
      for (Index h = 0; h < heads; ++h) {
        const auto first = values->begin() + h * kLength * 4;
        rows.insert(rows.end(), first, first + length * 4);
      }
      kept.push_back(std::move(rows));
    }
    const std::vector<TensorData> tensors = {float_tensor("layers.0.q", {2, length, 4}, kept[0]),
                                             float_tensor("layers.0.k", {2, length, 4}, kept[1]),
                                             float_tensor("layers.0.v", {2, length, 4}, kept[2]),
                                             float_tensor("x", {length, 4}, kept[3])};
    write_safetensors(folder / name, tensors,
                      {{"format", "headgauge.dump/1"}, {"causal", "false"}});
    return make_dump_source(resolve_model(folder / name), {});
  };
  const auto whole = write("whole.safetensors", kLength);
  const auto cut = write("cut.safetensors", kCut);
  const Results results = scan(*whole, tiny_options({kCut, kLength}));
  expect_length(results, 0, scan(*cut, tiny_options({kCut})));
  EXPECT_EQ(testing::notices_with(results, "was made of a context of 48 tokens"), 1);
}

}  // namespace
}  // namespace headgauge
