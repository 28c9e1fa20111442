// What a user adds to a scan through the public headers: a source, a measure, a normalizer and a
// pattern, none of which headgauge knows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "faults.hpp"
#include "headgauge/headgauge.hpp"

namespace headgauge {
namespace {

constexpr Index kTokens = 24;
constexpr int kHeads = 2;

// Scores that fall by 1 a token back, in every head.
class Ramp final : public HeadSource {
 public:
  explicit Ramp(bool causal = true) : scores_(kTokens, kTokens) {
    info_.name = "ramp";
    info_.layers = 2;
    info_.heads = info_.kv_heads = kHeads;
    info_.causal = causal;
    info_.has_x = info_.has_values = info_.has_loss = false;
    info_.documents = {kTokens};
    for (Index i = 0; i < kTokens; ++i) {
      for (Index j = 0; j < kTokens; ++j) scores_(i, j) = static_cast<float>(j - i);
    }
  }
  const SourceInfo& info() const override { return info_; }
  std::span<const HeadInput> layer(int layer, int document) override {
    heads_.assign(kHeads, {});
    for (int h = 0; h < kHeads; ++h) {
      heads_[h].layer = layer;
      heads_[h].head = heads_[h].kv_head = h;
      heads_[h].document = document;
      heads_[h].scores = scores_.view().block(0, length_, 0, length_);
      if (!info_.causal) heads_[h].visibility = Visibility::full();
      if (!interventions_.empty()) interventions_(layer, h).apply(heads_[h]);
    }
    return heads_;
  }
  void intervene(const HeadInterventions& interventions) override {
    require_all_heads(interventions, info_);
    interventions_ = interventions;
  }
  void set_context(Index length) override { length_ = length; }

 private:
  SourceInfo info_;
  Index length_ = kTokens;
  Matrix<float> scores_;
  HeadInterventions interventions_;
  std::vector<HeadInput> heads_;
};

// The weight on the query itself, and the number of keys; the layers that were finished.
class OwnWeight final : public Measure {
 public:
  void declare(MetricRegistry& metrics) override {
    metrics.coord("what", std::vector<std::string>{"weight", "keys"});
    own_ = metrics.add({.name = "own", .group = "mine", .dims = {"what"}, .unit = "1"});
  }
  MeasureNeeds needs() const override { return {.weights = true}; }
  void observe(const RowBlock& block, int, RowSink& sink) override {
    for (Index r = 0; r < block.size(); ++r) {
      const Row& row = block.rows[r];
      for (Index i = 0; i < row.n(); ++i) {
        if (row.key(i) == row.query) sink.set(r, own_, 0, row.weights[i]);
      }
      sink.set(r, own_, 1, static_cast<double>(row.n()));
    }
  }
  void end_layer(int, const LayerStatistics&, ThreadPool&) override { ++layers_; }
  void derive(std::span<const LayerStatistics* const>, Results& results) override {
    results.notices.push_back("layers: " + std::to_string(layers_));
  }

 private:
  MetricHandle own_;
  int layers_ = 0;
};

// Weights 1/n, whatever the scores.
class Uniform final : public Normalizer {
 public:
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override { return {}; }
  void jacobian(std::span<const double> logits, const RowContext&, Jacobian& out) const override {
    out.diagonal.assign(logits.size(), 0);
    out.terms.clear();
  }
  std::string notice(Index) const override { return "uniform looks at nothing"; }

 protected:
  void weigh_row(std::span<const double> logits, const RowContext&,
                 std::span<double> weights) const override {
    for (double& weight : weights) weight = 1.0 / static_cast<double>(logits.size());
  }

 private:
  NormalizerInfo info_ = [] {
    NormalizerInfo info;
    info.name = "uniform";
    return info;
  }();
};

// Softmax in blocks, which notes how large they are.
class InBlocks final : public Normalizer {
 public:
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override {
    NormalizerTraits traits;
    traits.in_blocks = true;
    return traits;
  }
  void jacobian(std::span<const double>, const RowContext&, Jacobian&) const override {}
  mutable std::vector<std::size_t> blocks;

 protected:
  void weigh_row(std::span<const double> logits, const RowContext& context,
                 std::span<double> weights) const override {
    softmax_->weigh(logits, context, weights);
  }
  void weigh_block(std::span<const ExactRow> rows) const override {
    blocks.push_back(rows.size());
    Normalizer::weigh_block(rows);
  }

 private:
  NormalizerInfo info_;
  std::shared_ptr<const Normalizer> softmax_ = make_normalizer("softmax");
};

TEST(Extension, ABlockOfRowsHoldsAsMuchWhateverTheContext) {
  const InBlocks own;
  for (const std::size_t keys : {16, 8192, 300000}) {
    std::vector<std::vector<float>> logits(70, std::vector<float>(keys)), weights = logits;
    std::vector<WeighedRow> rows;
    for (std::size_t r = 0; r < logits.size(); ++r) {
      for (std::size_t k = 0; k < keys; ++k) logits[r][k] = static_cast<float>((k * (r + 1)) % 7);
      rows.push_back({.logits = logits[r], .context = {}, .weights = weights[r], .sums = {}});
    }
    own.blocks.clear();
    own.weigh_rows(rows);
    EXPECT_EQ(own.blocks.front(), keys == 16 ? 64u : keys == 8192 ? 32u : 1u);
    std::vector<float> alone(keys);
    for (const std::size_t r : {0u, 31u, 32u, 63u}) {
      own.weigh(std::span<const float>(logits[r]), {}, alone);
      EXPECT_EQ(weights[r], alone) << keys << " keys, row " << r;
    }
  }
}

// The query itself and the key before it.
class Pair final : public Pattern {
 public:
  const PatternInfo& info() const override { return info_; }
  std::shared_ptr<const KeyMask> mask(const HeadInput&) const override {
    return std::make_shared<Mask>();
  }

 private:
  struct Mask final : KeyMask {
    void select(Index query, KeyRange range, std::span<const float>,
                std::vector<std::uint32_t>& keys) const override {
      keys.clear();
      for (Index key = std::max(range.begin, query - 1); key <= query; ++key) {
        keys.push_back(static_cast<std::uint32_t>(key));
      }
    }
  };
  PatternInfo info_{.name = "pair", .formula = "j >= i - 1", .parameters = {}, .source = "here"};
};

ScanOptions with_own_measure() {
  ScanOptions options;
  options.lengths = {8, 16};
  options.measures = {"weights"};
  options.threads = 2;
  options.own_measures = {[](const MeasureOptions& measure, const SourceInfo&, int slots) {
    EXPECT_FALSE(measure.lengths.empty());
    EXPECT_EQ(slots, 2);
    return std::make_unique<OwnWeight>();
  }};
  return options;
}

bool says(const Results& results, const std::string& notice) {
  return std::ranges::find(results.notices, notice) != results.notices.end();
}

TEST(Extension, AMeasureOfOnesOwn) {
  Ramp source;
  const Results results = scan(source, with_own_measure());
  EXPECT_EQ(results.metric("own")->dim_names(),
            (std::vector<std::string>{"layer", "head", "length", "what"}));
  // A query has 1 to 16 keys, and of these weights 1 / (1 + 1/e + ...).
  EXPECT_EQ(results.at("own", {1, 1, 1, 1}), 8.5);
  double mean = 0;
  for (int n = 1; n <= 16; ++n) mean += (1 - std::exp(-1.0)) / (1 - std::exp(-n)) / 16;
  EXPECT_NEAR(results.at("own", {1, 1, 1, 0}), mean, 1e-6);
  EXPECT_TRUE(says(results, "layers: 2"));
  EXPECT_NE(results.metric("entropy_with_sinks"), nullptr);
}

// Infinite in one row.
class Infinite final : public Measure {
 public:
  void declare(MetricRegistry& metrics) override {
    own_ = metrics.add({.name = "own", .group = "mine", .unit = "1"});
  }
  MeasureNeeds needs() const override { return {}; }
  void observe(const RowBlock& block, int, RowSink& sink) override {
    for (Index r = 0; r < block.size(); ++r) {
      const double one = block.rows[r].query == 3 ? std::numeric_limits<double>::infinity() : 1;
      sink.set(r, own_, one);
    }
  }

 private:
  MetricHandle own_;
};

TEST(Extension, AMeanWithAnInfiniteRowIsUndefinedOfNoRowsAndSaid) {
  Ramp source;
  ScanOptions options = with_own_measure();
  options.own_measures = {
      [](const MeasureOptions&, const SourceInfo&, int) { return std::make_unique<Infinite>(); }};
  const Results results = scan(source, options);
  const LabelledArray& own = *results.metric("own");
  for (const std::int64_t rows : own.rows) EXPECT_EQ(rows, 0);
  for (const double value : own.values) EXPECT_TRUE(std::isnan(value));
  EXPECT_TRUE(says(results, fmt::format("own: {0} of {0} means are undefined, because a row is not "
                                        "finite",
                                        own.size())));
}

TEST(Extension, ANormalizerOfOnesOwn) {
  Ramp source;
  ScanOptions options = with_own_measure();
  options.own_normalizer = std::make_shared<Uniform>();
  const Results results = scan(source, options);
  EXPECT_EQ(results.settings["normalizer"], "uniform");
  EXPECT_TRUE(says(results, "uniform looks at nothing"));
  EXPECT_NEAR(results.at("entropy_normalized_with_sinks", {0, 0, 1}), 1, 1e-6);
}

TEST(Extension, APatternOfOnesOwn) {
  Ramp source;
  ScanOptions options = with_own_measure();
  options.own_pattern = std::make_shared<Pair>();
  options.measures = {"weights", "counterfactual"};
  const Results results = scan(source, options);
  EXPECT_EQ(results.settings["pattern"], "pair");
  EXPECT_EQ(results.at("own", {0, 1, 0, 1}), (1 + 7 * 2) / 8.0);
  EXPECT_LT(results.at("kept_mass", {0, 1, 1}), 1);
}

Results compared(const CompareOptions& options) {
  Ramp source;
  return compare(source, options, make_interventions(options, source.info()));
}

TEST(Extension, ComparesANormalizerOfOnesOwnWithNamedOnes) {
  CompareOptions options{.scan = with_own_measure(), .normalizers = {"sparsemax"}};
  options.own_normalizers = {std::make_shared<Uniform>()};
  const Results results = compared(options);
  const auto labels = results.coord_names("normalizer");
  EXPECT_EQ(std::vector(labels.begin(), labels.end()),
            (std::vector<std::string>{"original", "sparsemax", "uniform"}));
  EXPECT_NEAR(results.at("entropy_normalized_with_sinks", {0, 0, 2, 1}), 1, 1e-6);
  EXPECT_LT(results.at("entropy_normalized_with_sinks", {0, 0, 0, 1}), 0.9);
  EXPECT_TRUE(says(results, "uniform looks at nothing"));
  // Only in the head that was chosen.
  options.scan.heads = "1.1";
  const Results one = compared(options);
  EXPECT_NEAR(one.at("entropy_normalized_with_sinks", {1, 1, 2, 1}), 1, 1e-6);
  EXPECT_EQ(one.at("entropy_normalized_with_sinks", {1, 0, 2, 1}),
            one.at("entropy_normalized_with_sinks", {1, 0, 0, 1}));
  options.own_normalizers.push_back(options.own_normalizers.front());
  EXPECT_THROW(compared(options), UsageError) << "two of one name";
}

TEST(Extension, ComparesAPatternOfOnesOwn) {
  CompareOptions options{.scan = with_own_measure()};
  options.own_patterns = {std::make_shared<Pair>()};
  const Results results = compared(options);
  EXPECT_EQ(results.coord_names("pattern").back(), "pair");
  EXPECT_EQ(results.at("own", {0, 1, 0, 0, 1}), 4.5);
  EXPECT_EQ(results.at("own", {0, 1, 1, 0, 1}), (1 + 7 * 2) / 8.0);
  options.own_normalizers = {std::make_shared<Uniform>()};
  EXPECT_THROW(compared(options), UsageError) << "normalizers and patterns";
}

// Every length of a source that is not causal is a pass, with a measure of its own.
TEST(Extension, AMeasureIsMadeForEveryPass) {
  Ramp source(false);
  const Results results = scan(source, with_own_measure());
  EXPECT_EQ(results.at("own", {0, 0, 0, 1}), 8);
  EXPECT_EQ(results.at("own", {0, 0, 1, 1}), 16);
  EXPECT_TRUE(says(results, "layers: 2"));
}

TEST(Extension, WhatAScanWillGiveIsKnownBefore) {
  const std::vector<MetricInfo> metrics = scan_metrics(with_own_measure(), Ramp().info());
  const auto own = std::ranges::find(metrics, "own", &MetricInfo::name);
  ASSERT_NE(own, metrics.end());
  EXPECT_EQ(own->all_dims(), (std::vector<std::string>{"layer", "head", "length", "what"}));
  EXPECT_EQ(std::ranges::find(metrics, "distance", &MetricInfo::name), metrics.end());
}

TEST(Extension, TwoMetricsOfOneNameAreRefused) {
  Ramp source;
  ScanOptions options = with_own_measure();
  options.own_measures.push_back(options.own_measures.front());
  EXPECT_THROW(scan(source, options), UsageError);
}

// Options are input alone: a scan does not change them, and names its members in errors.
TEST(Extension, ErrorsNameTheMember) {
  Ramp source;
  ScanOptions options;
  options.lengths = {kTokens + 1};
  EXPECT_EQ(thrown<BadInputError>([&] {
              scan(source, options);
            }).rfind("ScanOptions::lengths: expected at most 24", 0),
            0u);
}

// Also where it is the member of other options.
TEST(Extension, ErrorsNameTheOptionsThatWereGiven) {
  const auto error_of = [](const CompareOptions& options) {
    return thrown<UsageError>([&] { make_interventions(options, Ramp().info()); });
  };
  CompareOptions options{.scan = {}, .normalizers = {"softmix"}};
  EXPECT_EQ(error_of(options).find("CompareOptions::normalizers: "), 0u) << error_of(options);
  options.normalizers = {"ssmax:q=3"};
  EXPECT_EQ(error_of(options).find("CompareOptions::normalizers ssmax: "), 0u) << error_of(options);
  options.normalizers.clear();
  options.patterns = {"windows"};
  EXPECT_EQ(error_of(options).find("CompareOptions::patterns: "), 0u) << error_of(options);
}

}  // namespace
}  // namespace headgauge
