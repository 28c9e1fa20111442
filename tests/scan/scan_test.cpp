// The engine as a whole: determinism, selection of heads, interruption, sources of every kind.
#include "headgauge/scan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <ranges>

#include "headgauge/headgauge.hpp"
#include "made_source.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

std::unique_ptr<HeadSource> plain_source(int documents = 1) {
  std::vector<int> tokens = testing::made_ids(96, 3);
  std::vector<Document> texts;
  for (int d = 0; d < documents; ++d) {
    texts.push_back({"text " + std::to_string(d), tokens, ""});
    std::rotate(tokens.begin(), tokens.begin() + 7, tokens.end());
  }
  return testing::open_model(texts);
}

ScanOptions quick_options() {
  ScanOptions options;
  options.lengths = {16, 64, 96};
  options.measure.top_n = {1, 5, 20};
  options.measure.temperatures = {0.1, 1.0};
  options.measure.critical_max = 20;
  return options;
}

void expect_same_results(const Results& a, const Results& b) {
  testing::expect_same_values(b, a);
  EXPECT_TRUE(std::ranges::equal(std::views::keys(a.metrics), std::views::keys(b.metrics)));
  EXPECT_EQ(to_json(a)["flags"], to_json(b)["flags"]);
}

TEST(Scan, SameBitsOnAnyNumberOfThreads) {
  ScanOptions options = quick_options();
  options.threads = 1;
  const Results one = scan(*plain_source(2), options);
  for (int threads : {2, 5}) {
    options.threads = threads;
    expect_same_results(one, scan(*plain_source(2), options));
  }
}

TEST(Scan, ASourceMayBeScannedAgain) {
  const auto source = plain_source(2);
  const Results first = scan(*source, quick_options());
  expect_same_results(first, scan(*source, quick_options()));
}

TEST(Scan, ASelectedHeadHasTheValuesOfAFullScan) {
  const ScanOptions options = quick_options();
  const Results full = scan(*plain_source(), options);
  ScanOptions selected = options;
  selected.heads = "1.1";
  const Results part = scan(*plain_source(), selected);
  EXPECT_EQ(part.coord_size("layer"), 1);
  EXPECT_EQ(part.coord_size("head"), 1);
  for (Index l = 0; l < 3; ++l) {
    EXPECT_EQ(part.at("entropy_with_sinks", {0, 0, l}), full.at("entropy_with_sinks", {1, 1, l}));
    EXPECT_EQ(part.at("distance", {0, 0, l, 1}), full.at("distance", {1, 1, l, 1}));
  }
}

TEST(Scan, EveryDocumentCounts) {
  const Results two = scan(*plain_source(2), quick_options());
  EXPECT_EQ(two.metric("entropy_with_sinks")->rows.front(), 2 * 16);
}

// Asks for a stop when the engine reports the layer after the first.
class StopAfterFirstLayer : public Progress {
 public:
  void update(std::string_view, double done, double) override {
    if (done >= 1) source.request_stop();
  }
  std::stop_source source;
};

// Asks for a stop when it is shown rows of the second layer, of which a head has more than a tile.
class StopAtFirstRows final : public Measure {
 public:
  StopAtFirstRows(std::stop_source& source, int& blocks) : source_(source), blocks_(blocks) {}
  void declare(MetricRegistry& metrics) override {
    own_ = metrics.add({.name = "own", .unit = "1"});
  }
  MeasureNeeds needs() const override { return {}; }
  void begin_head(const HeadInput& head, ThreadPool&) override { layer_ = head.layer; }
  void observe(const RowBlock&, int, RowSink&) override {
    if (layer_ == 0) return;
    ++blocks_;
    source_.request_stop();
  }

 private:
  std::stop_source& source_;
  int& blocks_;
  int layer_ = 0;
  MetricHandle own_;
};

TEST(Scan, LeavesAHeadInTheMiddleWhenItIsAskedTo) {
  std::stop_source source;
  int blocks = 0;
  ScanOptions options = quick_options();
  options.threads = 1;
  options.own_measures = {[&](const MeasureOptions&, const SourceInfo&, int) {
    return std::make_unique<StopAtFirstRows>(source, blocks);
  }};
  const Results part = scan(*plain_source(), options, nullptr, source.get_token());
  EXPECT_EQ(blocks, 1);
  EXPECT_TRUE(part.partial);
  EXPECT_EQ(part.layers_done, 1);
}

TEST(Scan, AnInterruptedScanHoldsTheFinishedLayers) {
  const Results full = scan(*plain_source(), quick_options());
  StopAfterFirstLayer progress;
  const Results part =
      scan(*plain_source(), quick_options(), &progress, progress.source.get_token());
  EXPECT_TRUE(part.partial);
  EXPECT_EQ(part.layers_done, 1);
  ASSERT_EQ(part.coord_size("layer"), 1);
  // What is of the whole model does not follow from some of its layers.
  EXPECT_NE(full.metric("critical_n"), nullptr);
  EXPECT_NE(full.metric("sensitivity_max"), nullptr);
  for (const auto& [name, metric] : part.metrics) EXPECT_EQ(metric.dim_names()[0], "layer") << name;
  const auto& notices = part.notices;
  EXPECT_EQ(std::ranges::count(notices,
                               "interrupted: metrics of the whole model are left out (critical_n, "
                               "critical_fraction, closest_n, closest_ratio, "
                               "closest_n_exponent, critical_n_paper, critical_ks_d, "
                               "sensitivity_max, forecast_coverage, loss, loss_by_gap)"),
            1);
  for (const char* metric :
       {"entropy_with_sinks", "distance", "separability_with_sinks", "sensitivity"}) {
    const std::vector<double>& found = part.metric(metric)->values;
    const auto expected = std::span(full.metric(metric)->values).first(found.size());
    EXPECT_TRUE(std::ranges::equal(found, expected, same)) << metric;
  }
}

TEST(Scan, LengthsThatDoNotFitAreRefused) {
  ScanOptions options = quick_options();
  options.lengths = {16, 97};
  const std::string said = thrown<BadInputError>([&] { scan(*plain_source(), options); });
  for (const char* part : {"96 tokens", "32, 64, 96"}) expect_part(said, part);
  options.lengths = {0};
  EXPECT_THROW(scan(*plain_source(), options), UsageError);
  options = quick_options();
  options.measure.top_n = {0};
  EXPECT_THROW(scan(*plain_source(), options), UsageError);
  options = quick_options();
  options.measures = {"nonsense"};
  EXPECT_THROW(scan(*plain_source(), options), UsageError);
}

TEST(Scan, AutoLengthsDoubleAsFarAsTheyFit) {
  EXPECT_EQ(auto_lengths(2000, 1024), (std::vector<int>{32, 64, 128, 256, 512, 1024}));
  EXPECT_EQ(auto_lengths(300, 512), (std::vector<int>{32, 64, 128, 256, 300}));
  EXPECT_EQ(auto_lengths(10, 512), (std::vector<int>{10}));
  EXPECT_EQ(auto_lengths(5000, 0), (std::vector<int>{32, 64, 128, 256, 512, 1024}));
  EXPECT_THROW(auto_lengths(1, 512), BadInputError);
}

TEST(HeadSelection, PatternsNameLayersAndHeads) {
  const HeadSelection all("", "", 4, 3);
  EXPECT_TRUE(all.contains(3, 2));
  const HeadSelection some("0-1,3", "1.*,3.0-1", 4, 3);
  EXPECT_TRUE(some.contains(1, 2));
  EXPECT_TRUE(some.contains(3, 1));
  EXPECT_FALSE(some.contains(3, 2));
  EXPECT_FALSE(some.layer(0));
  for (const char* wrong : {"4", "x", "1-", "2-1", "1,,2"}) {
    EXPECT_THROW(HeadSelection(wrong, "", 4, 3), UsageError) << wrong;
  }
  for (const char* wrong : {"3", "3.3", "*.x", "1.2,"}) {
    EXPECT_THROW(HeadSelection("", wrong, 4, 3), UsageError) << wrong;
  }
  EXPECT_THROW(HeadSelection("0", "1.1", 4, 3), UsageError);
}

TEST(HeadSelection, LayersWithoutHeadsAreInNone) {
  const std::vector<int> without{0, 3};
  const HeadSelection all("", "", 5, 3, "ScanOptions", without);
  const HeadSelection range("2-4", "*.1", 5, 3, "ScanOptions", without);
  for (int layer = 0; layer < 5; ++layer) {
    const bool has_heads = layer != 0 && layer != 3;
    EXPECT_EQ(all.layer(layer), has_heads) << layer;
    EXPECT_EQ(all.contains(layer, 2), has_heads) << layer;
    EXPECT_EQ(range.layer(layer), has_heads && layer >= 2) << layer;
  }
  for (const auto& [layers, heads] :
       {std::pair("0", ""), std::pair("1,3", ""), std::pair("", "3.1"), std::pair("", "0.*")}) {
    const std::string of_layers = layers, of_heads = heads;
    expect_part(thrown<UsageError>(
                    [&] { HeadSelection(of_layers, of_heads, 5, 3, "ScanOptions", without); }),
                "layers with attention (1, 2, 4)");
  }
}

// Heads of random vectors under any visibility.
class MadeSource : public SourceOfHeads {
 public:
  explicit MadeSource(const Visibility& visibility)
      : SourceOfHeads(1, 80, visibility), qkv_(80, 24) {
    for (Index i = 0; i < qkv_.rows() * qkv_.cols(); ++i) {
      qkv_.data()[i] = std::sin(0.7f * static_cast<float>(i * i % 1013));
    }
    HeadInput& head = heads_.front();
    const MatrixView<const float> all = std::as_const(qkv_).view();
    head.queries = all.block(0, 80, 0, 8);
    head.keys = all.block(0, 80, 8, 8);
    head.x = {all.block(0, 80, 16, 8), {}, 0};
    info_.head_dim = 8;
    info_.has_x = info_.has_values = true;
  }
  const HeadInput& head() const { return heads_.front(); }
  void look_at(const QueriesOfDocument& queries) override {
    auto& of_documents = looked_at.emplace_back();
    if (queries) of_documents.push_back(queries(0));
  }
  std::vector<std::vector<std::vector<Index>>> looked_at;  // what scans said, in order
  // The first keys are those of another text, which every query sees.
  void take_keys_of_another_text(Index keys) {
    HeadInput& head = heads_.front();
    head.keys = std::as_const(qkv_).view().block(0, keys, 8, 8);
    head.cross = true;
    info_.causal = true;  // the text of the queries
  }

 private:
  Matrix<float> qkv_;
};

// Entropy straight from the definition, over the keys that a query sees.
double direct_entropy(const HeadInput& head, Index first, Index last) {
  double mean = 0;
  for (Index t = first; t < last; ++t) {
    const KeyRange keys = head.visibility.range(t, head.keys.rows());
    std::vector<double> weights;
    double sum = 0;
    for (Index j = keys.begin; j < keys.end; ++j) {
      double dot = 0;
      for (Index c = 0; c < 8; ++c)
        dot += static_cast<double>(head.queries(t, c)) * head.keys(j, c);
      weights.push_back(std::exp(dot));
      sum += weights.back();
    }
    for (double w : weights) mean -= w / sum * std::log(w / sum);
  }
  return mean / static_cast<double>(last - first);
}

TEST(Scan, SlidingWindowAndFullVisibility) {
  for (const Visibility& visibility :
       {Visibility::causal(), Visibility::sliding_window(10), Visibility::full()}) {
    MadeSource source(visibility);
    ScanOptions options;
    options.lengths = {80};
    options.measures = {"weights", "distance", "separability"};
    options.measure.top_n = {1, 5};
    const Results results = scan(source, options);
    EXPECT_NEAR(results.at("entropy_with_sinks", {0, 0, 0}), direct_entropy(source.head(), 0, 80),
                1e-5);
    const double largest_n = visibility.kind() == Visibility::Kind::sliding_window ? 10 : 80;
    EXPECT_LE(results.at("effective_tokens_with_sinks", {0, 0, 0}), largest_n);
    EXPECT_FALSE(std::isnan(results.at("distance", {0, 0, 0, 1})));
  }
}

TEST(Scan, SaysWhichQueriesItLooksAtWhileItDoes) {
  const auto said = [](const std::function<void(ScanOptions&)>& change) {
    MadeSource source(Visibility::causal());
    ScanOptions options;
    options.lengths = {80};
    options.measures = {"weights"};
    options.queries = 4;
    change(options);
    scan(source, options);
    EXPECT_TRUE(source.looked_at.back().empty()) << "afterwards all may be looked at again";
    return source.looked_at.front();
  };
  const auto rows = said([](ScanOptions&) {});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_LT(rows[0].size(), 80u);
  EXPECT_GE(rows[0].size(), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(rows[0]));
  EXPECT_TRUE(said([](ScanOptions& options) { options.queries = 0; }).empty());
  EXPECT_TRUE(said([](ScanOptions& options) { options.pattern = "window:size=8"; }).empty());
  EXPECT_TRUE(said([](ScanOptions& options) {
                options.own_measures.push_back([](const MeasureOptions&, const SourceInfo&, int) {
                  class Own final : public Measure {
                    void declare(MetricRegistry&) override {}
                    MeasureNeeds needs() const override { return {}; }
                    void observe(const RowBlock&, int, RowSink&) override {}
                  };
                  return std::make_unique<Own>();
                });
              }).empty());
}

TEST(Scan, KeysOfAnotherTextAreAllSeenByEachQuery) {
  for (const Index keys : {Index{9}, Index{80}}) {
    MadeSource source(Visibility::full());
    source.take_keys_of_another_text(keys);
    ScanOptions options;
    options.lengths = {32, 80};
    options.measures = {"weights", "sensitivity"};
    const Results results = scan(source, options);
    for (const auto& [place, length] : {std::pair{0, 32}, {1, 80}}) {
      EXPECT_NEAR(results.at("entropy_with_sinks", {0, 0, place}),
                  direct_entropy(source.head(), 0, length), 1e-5);
      EXPECT_EQ(results.at("visible_keys", {0, 0, place}), static_cast<double>(keys));
      EXPECT_TRUE(std::isnan(results.at("attention_distance_with_sinks", {0, 0, place})));
    }
    EXPECT_FALSE(std::isnan(results.at("jacobian_spectral", {0, 0, 1})));
  }
}

// The published scores of GPT-2 124M: a dump of scores, against the weights that come with them.
TEST(ScanReal, Gpt2ScoresGiveTheirPublishedWeights) {
  const std::string folder = testing::shared_path("gpt2-124m-attention");
  if (!testing::exists(folder)) GTEST_SKIP() << "no shared data at " << folder;
  const testing::TemporaryFolder work("gpt2-124m");
  for (int prompt = 0; prompt < 3; ++prompt) {
    std::ifstream file(folder + "/prompt" + std::to_string(prompt) + ".json");
    const auto recorded = nlohmann::json::parse(file);
    const Index n = recorded["n"];
    std::vector<std::vector<float>> scores(12);
    std::vector<TensorData> tensors;
    for (std::size_t l = 0; l < 12; ++l) {
      for (const auto& head : recorded["scaled_scores"][l]) {
        for (const auto& score : head) scores[l].push_back(score.get<float>());
      }
      tensors.push_back(
          float_tensor("layers." + std::to_string(l) + ".scores", {12, n, n}, scores[l]));
    }
    const std::string path = work / ("prompt" + std::to_string(prompt) + ".safetensors");
    write_safetensors(path, tensors, {{"format", "headgauge.dump/1"}, {"causal", "true"}});
    auto source = make_dump_source(resolve_model(path), {});
    const Results results = scan(*source, {});
    EXPECT_EQ(results.metric("distance"), nullptr);  // no vectors in such a dump
    EXPECT_EQ(results.metric("loss"), nullptr);
    for (Index l = 0; l < 12; ++l) {
      for (Index h = 0; h < 12; ++h) {
        const auto weights = recorded["weights"][l][h].get<std::vector<double>>();
        double entropy = 0, participation = 0, sink = 0, frobenius = 0;
        for (Index t = 0; t < n; ++t) {
          double q2 = 0, q3 = 0;
          for (Index j = 0; j <= t; ++j) {
            const double a = weights[t * n + j];
            if (a > 0) entropy -= a * std::log(a);
            q2 += a * a;
            q3 += a * a * a;
          }
          participation += 1 / q2;
          frobenius += std::sqrt(std::max(0.0, q2 - 2 * q3 + q2 * q2));
          sink += weights[t * n];
        }
        const auto rows = static_cast<double>(n);
        EXPECT_NEAR(results.at("entropy_with_sinks", {l, h, 0}), entropy / rows, 2e-6);
        EXPECT_NEAR(results.at("participation_ratio_with_sinks", {l, h, 0}), participation / rows,
                    1e-5);
        EXPECT_NEAR(results.at("first_weight", {l, h, 0}), sink / rows, 1e-6);
        EXPECT_NEAR(results.at("jacobian_frobenius", {l, h, 0}), frobenius / rows, 2e-4);
      }
    }
  }
}

}  // namespace
}  // namespace headgauge
