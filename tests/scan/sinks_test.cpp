// Sinks: which keys are found, and what a scan says beyond them, against sums in float64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/headgauge.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

constexpr Index kTokensOfSinks = 200, kWidthOfSinks = 8;

// One head of random queries and keys, of which some have what every query looks for.
class HeadWithSinks final : public HeadSource {
 public:
  // The text begins with token number `first` of them. Keys are the vectors of the distances.
  explicit HeadWithSinks(const std::vector<Index>& sinks, float pull = 7,
                         Visibility visibility = Visibility::causal(), Index first = 0)
      : queries_(kTokensOfSinks, kWidthOfSinks), keys_(kTokensOfSinks, kWidthOfSinks) {
    std::mt19937 generator(9);
    std::normal_distribution<float> normal;
    for (Index t = 0; t < kTokensOfSinks; ++t) {
      for (float& v : queries_.row(t)) v = normal(generator);
      for (float& v : keys_.row(t)) v = normal(generator);
      queries_(t, 0) = 1;
      keys_(t, 0) = 0;
    }
    for (const Index sink : sinks) keys_(sink, 0) = pull;
    const Index length = kTokensOfSinks - first;
    head_.queries = std::as_const(queries_).view().block(first, length, 0, kWidthOfSinks);
    head_.keys = std::as_const(keys_).view().block(first, length, 0, kWidthOfSinks);
    head_.x.rows = head_.keys;
    head_.scale = 0.5f;
    head_.visibility = visibility;
    info_.layers = info_.heads = info_.kv_heads = 1;
    info_.head_dim = kWidthOfSinks;
    info_.causal = visibility.is_causal();
    info_.has_values = info_.has_loss = false;
    info_.has_x = true;
    info_.documents = {length};
  }
  const SourceInfo& info() const override { return info_; }
  std::span<const HeadInput> layer(int, int) override { return std::span(&head_, 1); }
  std::vector<double> token_losses(int) override { return {}; }

  double logit(Index t, Index j) const {
    double product = 0;
    for (Index d = 0; d < kWidthOfSinks; ++d) product += double{queries_(t, d)} * keys_(j, d);
    return 0.5 * product;
  }
  // The softmax of row t in float64.
  std::vector<double> weights(Index t) const {
    std::vector<double> a;
    double sum = 0;
    for (Index j = 0; j <= t; ++j) {
      sum += a.emplace_back(std::exp(logit(t, j)));
    }
    for (double& w : a) w /= sum;
    return a;
  }

 private:
  Matrix<float> queries_, keys_;
  HeadInput head_;
  SourceInfo info_;
};

Results scan_weights(HeadSource& source, std::vector<std::string> measures = {"weights"}) {
  ScanOptions options;
  options.lengths = {static_cast<int>(kTokensOfSinks)};
  options.measures = std::move(measures);
  return scan(source, options);
}

std::set<Index> sinks_in(const Results& results) {
  std::set<Index> found;
  for (const auto& sink : results.text.at("sinks")) found.insert(sink.at("position").get<Index>());
  return found;
}

using Sinks = std::set<Index>;

// The entropy of every row, by query, as a measure sees it that looks beyond the sinks.
class EntropiesBeyondSinks final : public Measure {
 public:
  explicit EntropiesBeyondSinks(std::vector<double>& entropies) : entropies_(entropies) {
    entropies_.assign(kTokensOfSinks, kUndefined);
  }
  void declare(MetricRegistry&) override {}
  MeasureNeeds needs() const override { return {.weights = true, .beyond_sinks = true}; }
  void observe(const RowBlock& block, int, RowSink&) override {
    for (const Row& row : block.rows) entropies_[row.query] = row.sums.entropy;
  }

 private:
  std::vector<double>& entropies_;
};

TEST(Sinks, AreKeysThatTakeWeightWhateverTheQuery) {
  for (const std::vector<Index>& planted : {std::vector<Index>{0}, {0, 37}, {61}}) {
    HeadWithSinks source(planted);
    EXPECT_EQ(sinks_in(scan_weights(source)), Sinks(planted.begin(), planted.end()));
  }
  HeadWithSinks none({});
  EXPECT_EQ(sinks_in(scan_weights(none)), Sinks{});
  // A key is judged by 16 rows or more of the 64, 32 tokens later or more.
  HeadWithSinks late({0, 150});
  EXPECT_EQ(sinks_in(scan_weights(late)), Sinks{0});
  // A window of 100 lets a key be seen from afar by some rows.
  HeadWithSinks window({0, 61}, 7, Visibility::sliding_window(100));
  EXPECT_EQ(sinks_in(scan_weights(window)), (Sinks{0, 61}));
}

// One head on two documents.
class TwoDocuments final : public HeadSource {
 public:
  TwoDocuments(const std::vector<Index>& first, const std::vector<Index>& second)
      : documents_{HeadWithSinks(first), HeadWithSinks(second)}, info_(documents_[0].info()) {
    info_.documents = {kTokensOfSinks, kTokensOfSinks};
  }
  const SourceInfo& info() const override { return info_; }
  std::span<const HeadInput> layer(int layer, int document) override {
    head_ = documents_[document].layer(layer, 0).front();
    head_.document = document;
    return std::span(&head_, 1);
  }
  std::vector<double> token_losses(int) override { return {}; }

 private:
  HeadWithSinks documents_[2];
  HeadInput head_;
  SourceInfo info_;
};

// What stands at a position in one text does not stand there in another: the first is named alone,
// and counts in the mean over the documents.
TEST(Sinks, OfSeveralDocumentsAreNamedAtTheFirstPositionAlone) {
  TwoDocuments both({0, 37}, {0, 37}), one({0, 37}, {61});
  const Results agree = scan_weights(both), differ = scan_weights(one);
  EXPECT_EQ(sinks_in(agree), Sinks{0});
  EXPECT_EQ(sinks_in(differ), Sinks{0});
  EXPECT_EQ(agree.text["sinks"][0]["heads"], 1.0);
  EXPECT_EQ(differ.text["sinks"][0]["heads"], 0.5);
}

TEST(Sinks, AreNotSaidToBeMissingWhereNoKeyCanBeJudged) {
  HeadWithSinks window({0, 61}, 7, Visibility::sliding_window(40));
  const Results narrow = scan_weights(window);
  EXPECT_TRUE(std::isnan(narrow.at("sink_weight", {0, 0, 0})));
  EXPECT_FALSE(std::isnan(narrow.at("entropy_beyond_sinks", {0, 0, 0})));
  HeadWithSinks source({0});
  ScanOptions options;
  options.lengths = {47};
  options.measures = {"weights"};
  EXPECT_TRUE(std::isnan(scan(source, options).at("sink_weight", {0, 0, 0})));
  options.lengths = {48};
  EXPECT_GT(scan(source, options).at("sink_weight", {0, 0, 0}), .3);
}

// Few keys have much weight each, by chance.
TEST(Sinks, AreFarFromChance) {
  HeadWithSinks even({});
  ScanOptions options;
  options.lengths = {static_cast<int>(kTokensOfSinks)};
  options.measures = {"weights"};
  options.pattern = "sinks:sinks=4,window=8";
  options.normalizer = "uniform";
  EXPECT_EQ(sinks_in(scan(even, options)), Sinks{});
  HeadWithSinks planted({0});
  options.normalizer = "softmax";
  EXPECT_EQ(sinks_in(scan(planted, options)), Sinks{0});
  // A pattern that picks keys by their weight: those that few rows pick are none.
  options.pattern = "topk:k=16";
  EXPECT_EQ(sinks_in(scan(even, options)), Sinks{});
  EXPECT_EQ(sinks_in(scan(planted, options)), Sinks{0});
}

TEST(Sinks, AreThoseOfADocumentWhereQueriesLookAheadToo) {
  HeadWithSinks source({150}, 7, Visibility::full());
  EXPECT_EQ(sinks_in(scan_weights(source)), Sinks{150});
}

// Every metric beyond the sinks, of weights summed in float64.
TEST(Sinks, LeaveARestThatIsMeasuredRowByRow) {
  HeadWithSinks source({0, 37});
  const Results results = scan_weights(source);
  double at_sinks = 0, rest = 0, entropy = 0, effective = 0, ratio = 0, largest = 0, back = 0;
  for (Index t = 0; t < kTokensOfSinks; ++t) {
    const std::vector<double> a = source.weights(t);
    double mass = 0, logs = 0, square = 0, most = 0, distance = 0;
    for (Index j = 0; j <= t; ++j) {
      const double w = a[static_cast<std::size_t>(j)];
      if (j == 0 || j == 37) {
        at_sinks += w;
        continue;
      }
      mass += w;
      logs += w * std::log(w);
      square += w * w;
      most = std::max(most, w);
      distance += w * static_cast<double>(t - j);
    }
    if (mass == 0) continue;
    rest += mass;
    const double h = std::log(mass) - logs / mass;
    entropy += mass * h;
    effective += mass * std::exp(h);
    ratio += mass * mass * mass / square;
    largest += most;
    back += distance;
  }
  EXPECT_GT(at_sinks, 0.3 * kTokensOfSinks);
  const auto value = [&](const char* name) { return results.at(name, {0, 0, 0}); };
  EXPECT_NEAR(value("sink_weight"), at_sinks / kTokensOfSinks, 1e-6);
  EXPECT_NEAR(value("entropy_beyond_sinks"), entropy / rest, 1e-5);
  EXPECT_NEAR(value("effective_tokens_beyond_sinks"), effective / rest, 1e-4);
  EXPECT_NEAR(value("participation_ratio_beyond_sinks"), ratio / rest, 1e-4);
  EXPECT_NEAR(value("max_weight_beyond_sinks"), largest / rest, 1e-6);
  EXPECT_NEAR(value("attention_distance_beyond_sinks"), back / rest, 1e-4);
}

// What a rule with a sink of its own leaves out is on a sink too.
// The first token is the sink of all: without it the text is one token shorter.
TEST(Sinks, CanBeHiddenFromSetsAndSlopes) {
  HeadWithSinks whole({0}), shorter({0}, 7, Visibility::causal(), 1);
  ScanOptions options;
  options.lengths = {static_cast<int>(kTokensOfSinks)};
  options.measure.top_n = {1, 5, 20};
  const Results plain = scan(whole, options);
  options.measure.beyond_sinks = true;
  const Results hidden = scan(whole, options);
  options.lengths = {static_cast<int>(kTokensOfSinks) - 1};
  const Results truth = scan(shorter, options);
  for (const char* metric : {"distance", "expected_distance", "separability", "separability_lower",
                             "separability_upper_paper"}) {
    SCOPED_TRACE(metric);
    for (Index n = 0; n < 3; ++n) {
      const double expected = truth.at(metric, {0, 0, 0, n});
      EXPECT_NEAR(hidden.at(metric, {0, 0, 0, n}), expected, 1e-5 * expected) << n;
      if (n > 0) {
        EXPECT_NE(plain.at(metric, {0, 0, 0, n}), expected) << n;
      }
    }
  }
  // What has its own value beyond the sinks stays that of whole rows.
  for (const char* metric : {"entropy", "sink_weight", "entropy_beyond_sinks"}) {
    EXPECT_EQ(hidden.at(metric, {0, 0, 0}), plain.at(metric, {0, 0, 0})) << metric;
  }
  EXPECT_NE(hidden.at("entropy_slope", {0, 0}), plain.at("entropy_slope", {0, 0}));
  EXPECT_TRUE(hidden.settings.at("beyond_sinks").get<bool>());
}

// Row by row, in float64, with a sink in the middle too and under a window.
// Leaves the keys whose logit is above -1/2.
class LeavesLargeLogits final : public KeyMask {
 public:
  static constexpr double kLeast = -0.5;
  bool needs_logits() const override { return true; }
  void select(Index, KeyRange range, std::span<const float> logits,
              std::vector<std::uint32_t>& keys) const override {
    keys.clear();
    for (Index j = range.begin; j < range.end; ++j) {
      if (logits[j - range.begin] > kLeast) keys.push_back(static_cast<std::uint32_t>(j));
    }
  }
};

// Entropies of rows beyond the sinks 0 and 61, those of the keys that `is_seen` alone.
void expect_softmax_of_the_others(Visibility visibility,
                                  const std::function<bool(double logit)>& is_seen) {
  HeadWithSinks source({0, 61}, 7, std::move(visibility));
  std::vector<double> entropies;
  ScanOptions options;
  options.lengths = {static_cast<int>(kTokensOfSinks)};
  options.measures = {"dispersion"};
  options.measure.beyond_sinks = true;
  const MeasureMaker seen = [&](const MeasureOptions&, const SourceInfo&, int) {
    return std::make_unique<EntropiesBeyondSinks>(entropies);
  };
  options.own_measures = {seen};
  options.threads = 1;
  scan(source, options);
  ASSERT_EQ(std::ssize(entropies), kTokensOfSinks);
  for (Index t = 1; t < kTokensOfSinks; ++t) {
    if (t == 61) continue;
    const std::vector<double> all = source.weights(t);
    double mass = 0, expected = 0;
    const auto counts = [&](Index j) { return j != 0 && j != 61 && is_seen(source.logit(t, j)); };
    for (Index j = 0; j <= t; ++j) mass += counts(j) ? all[j] : 0;
    for (Index j = 0; j <= t; ++j) {
      if (counts(j) && all[j] > 0) expected -= all[j] / mass * std::log(all[j] / mass);
    }
    EXPECT_NEAR(entropies[t], expected, 2e-5 + 1e-5 * expected) << t;
  }
}

TEST(Sinks, ThatAreHiddenLeaveTheSoftmaxOfTheOthers) {
  expect_softmax_of_the_others(Visibility::causal(), [](double) { return true; });
}

TEST(Sinks, ThatAreHiddenLeaveWhatAMaskLeaves) {
  expect_softmax_of_the_others(Visibility::causal().masked(std::make_shared<LeavesLargeLogits>()),
                               [](double logit) { return logit > LeavesLargeLogits::kLeast; });
}

TEST(Sinks, OfTheRuleCountWithThoseOfTheHead) {
  HeadWithSinks source({});
  ScanOptions options;
  options.lengths = {static_cast<int>(kTokensOfSinks)};
  options.measures = {"weights"};
  options.normalizer = "sink:b=3";
  const Results results = scan(source, options);
  EXPECT_NEAR(results.at("sink_weight", {0, 0, 0}), 1 - results.at("mass", {0, 0, 0}), 1e-6);
  EXPECT_GT(results.at("sink_weight", {0, 0, 0}), 0.05);
  const Results plain = scan_weights(source);
  EXPECT_EQ(plain.at("sink_weight", {0, 0, 0}), 0);
  EXPECT_EQ(plain.at("entropy_beyond_sinks", {0, 0, 0}), plain.at("entropy", {0, 0, 0}));
}

// SmolLM2 on the beginning of War and Peace, against the attention that transformers computes of
// the same file, averaged by numpy over all queries: the same keys are sinks of 25 heads or more
// (one more, at 852, too few of the rows that are asked see from afar), and of the weight beyond
// them the same heads look at what followed earlier copies.
TEST(Sinks, OfSmolLm2AreThoseOfTransformers) {
  const std::string file = testing::smollm_path();
  const std::string text = testing::shared_path("text/war_and_peace.txt");
  if (!testing::exists(file)) GTEST_SKIP() << testing::kNoSmolLm;
  if (!testing::exists(text)) GTEST_SKIP() << "no shared/data/text";
  std::vector<int> ids = Tokenizer::load(file).encode(read_text_file(text).substr(0, 8000));
  ids.resize(1024);
  SourceOptions options;
  options.threads = 2;
  const auto source = make_model_source(resolve_model(file), {{"text", ids, ""}}, options);
  ScanOptions scan_options;
  scan_options.lengths = {1024};
  scan_options.threads = 2;
  scan_options.measures = {"weights", "roles"};
  const Results results = scan(*source, scan_options);
  EXPECT_EQ(sinks_in(results), (Sinks{0, 23, 54, 260, 373, 505, 618}));
  const auto& first = results.text.at("sinks").at(0);
  EXPECT_EQ(first.at("position"), 0);
  EXPECT_NEAR(first.at("heads").get<double>(), 228, 3);
  EXPECT_EQ(results.text.at("sinks").at(1).at("position"), 23);
  EXPECT_EQ(results.text.at("sinks").at(1).at("last_layer"), 10);

  std::set<std::string> induction;
  Index resting = 0;
  for (const Flag& flag : results.flags) {
    if (flag.name == "role_induction")
      induction.insert(fmt::format("{}.{}", flag.layer, flag.head));
    resting += flag.name == "role_sinks";
  }
  EXPECT_EQ(induction, (std::set<std::string>{"17.3", "17.4", "17.5", "18.6"}));
  EXPECT_NEAR(static_cast<double>(resting), 184, 3);
  const auto share = [&](Index layer, Index head, const char* name) {
    return results.at(name, {layer, head, 0});
  };
  EXPECT_NEAR(share(17, 3, "weight_induction_beyond_sinks"), .71, .01);
  EXPECT_NEAR(share(17, 5, "weight_induction_beyond_sinks"), .63, .01);
  EXPECT_NEAR(share(17, 3, "weight_induction"), .35, .01);
  EXPECT_NEAR(share(8, 0, "weight_duplicate_beyond_sinks"), .70, .015);
  EXPECT_NEAR(share(16, 0, "weight_previous_beyond_sinks"), .86, .01);
}

}  // namespace
}  // namespace headgauge
