// converge() on whole sources: what of it the command and the oracle in tests/agreement do not see.
#include "headgauge/converge.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "experiments/converge_output.hpp"
#include "findings/summary_facts.hpp"
#include "headgauge/bytes.hpp"
#include "headgauge/cells.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

// Random heads in several documents; the first heads of a layer are the same in all layers.
class DocumentsSource final : public HeadSource {
 public:
  DocumentsSource(std::vector<Index> documents, bool causal, Index window = 0) : window_(window) {
    info_.name = "made";
    info_.family = "made";
    info_.layers = 2;
    info_.heads = 4;
    info_.kv_heads = 2;
    info_.head_dim = kDim;
    info_.x_dim = kDim;
    info_.causal = causal;
    info_.has_loss = false;
    info_.documents = std::move(documents);
    info_.layer_types.assign(2, "full_attention");
    info_.windows.assign(2, window);
  }
  const SourceInfo& info() const override { return info_; }
  void set_context(Index length) override { context_ = length; }
  std::span<const HeadInput> layer(int layer, int document) override {
    const Index length = std::min(context_, info_.documents[document]);
    memory_.clear();
    heads_.clear();
    for (int h = 0; h < info_.heads; ++h) {
      HeadInput head;
      head.layer = layer;
      head.head = h;
      head.kv_head = h / 2;
      head.document = document;
      head.queries = draw(length, static_cast<std::uint32_t>(10 * h), document, 0.5 + 0.5 * h);
      head.keys = draw(length, static_cast<std::uint32_t>(10 * head.kv_head + 1), document, 1);
      head.values = draw(length, static_cast<std::uint32_t>(10 * head.kv_head + 2), document, 1);
      head.x = {head.values, {}, 0};
      head.visibility = !info_.causal ? Visibility::full()
                        : window_ > 0 ? Visibility::sliding_window(window_)
                                      : Visibility::causal();
      head.scale = 1 / std::sqrt(float{kDim});
      heads_.push_back(head);
    }
    return heads_;
  }

 private:
  static constexpr int kDim = 8;
  MatrixView<const float> draw(Index length, std::uint32_t name, int document, double deviation) {
    memory_.emplace_back(length, kDim);
    for (Index r = 0; r < length; ++r) {
      std::array<double, kDim> z{};
      RandomStream(static_cast<std::uint64_t>(document), RandomDomain::phantom, name,
                   static_cast<std::uint32_t>(r))
          .normals(z);
      for (Index c = 0; c < kDim; ++c) {
        memory_.back()(r, c) = static_cast<float>(deviation * z[c]);
      }
    }
    return memory_.back().view();
  }
  SourceInfo info_;
  Index context_ = 1 << 20;
  Index window_;
  std::deque<Matrix<float>> memory_;
  std::vector<HeadInput> heads_;
};

ConvergeOptions quick() {
  ConvergeOptions options;
  options.scan.lengths = {64, 160};
  options.scan.measures = {"weights"};
  options.scan.threads = 2;
  options.replicates = 20;
  options.draws = 4;
  return options;
}

double value(const Results& results, const char* metric, std::initializer_list<Pick> picks) {
  const auto cell = find_cell(results, metric, picks);
  return cell ? cell->value : kUndefined;
}

TEST(Converge, EveryNumberOfItsSentencesIsInTheResults) {
  ConvergeOptions options = quick();
  options.scan.measures = {"weights", "dispersion"};
  DocumentsSource source({160}, true);
  Results results = converge(source, options);
  const auto lines = summarize(results);
  EXPECT_GE(lines.size(), 4U);
  testing::expect_facts_are_in_the_results(results, lines);
  for (const SummaryLine& line : lines) EXPECT_FALSE(line.heads.empty()) << line.text;
}

TEST(Converge, HasTheSameBitsOnAnyNumberOfThreads) {
  ConvergeOptions options = quick();
  DocumentsSource source({160}, true);
  options.scan.threads = 1;
  const Results one = converge(source, options);
  options.scan.threads = 3;
  const Results three = converge(source, options);
  testing::expect_same_values(three, one);
}

TEST(Converge, AveragesTheDocumentsThatReachTheContext) {
  const ConvergeOptions options = quick();
  DocumentsSource both({160, 100, 160}, true), first({160}, true);
  const Results of_both = converge(both, options), of_first = converge(first, options);
  // The third document by itself: the same as the first of a source that has other tokens there.
  DocumentsSource all({160, 160, 160}, true);
  const Results of_all = converge(all, options);
  for (const char* metric : {"horizon", "error_constant"}) {
    const double a = value(of_first, metric, {{"layer", 1}, {"head", 3}});
    const double two = value(of_both, metric, {{"layer", 1}, {"head", 3}});
    const double three = value(of_all, metric, {{"layer", 1}, {"head", 3}});
    EXPECT_NE(a, two) << metric;
    EXPECT_NE(two, three) << metric;
  }
  // Twice the replicates in all: the error of the mean error shrinks by about the root of 2.
  const LabelledArray& errors = *of_both.metric("error_mean_absolute");
  const LabelledArray& alone = *of_first.metric("error_mean_absolute");
  double shrunk = 0;
  for (std::size_t i = 0; i < errors.values.size(); ++i) {
    shrunk += errors.standard_error[i] / alone.standard_error[i] /
              static_cast<double>(errors.values.size());
  }
  EXPECT_NEAR(shrunk, std::sqrt(0.5), 0.1);
}

TEST(Converge, HeadsThatShareKeysShareTheLargestBudget) {
  DocumentsSource source({160}, true);
  const Results results = converge(source, quick());
  for (Index group = 0; group < 2; ++group) {
    for (Index sampler = 0; sampler < 3; ++sampler) {
      const auto of = [&](const char* metric, Index head) {
        return value(results, metric,
                     {{"layer", 0}, {"head", head}, {"tolerance", 1}, {"sampler", sampler}});
      };
      const double largest =
          std::max(of("tokens_for_error", 2 * group), of("tokens_for_error", 2 * group + 1));
      EXPECT_EQ(of("budget_keys", 2 * group), largest);
      EXPECT_EQ(of("budget_keys", 2 * group + 1), largest);
    }
  }
  // Two kv heads of 8 numbers in float32, keys and values.
  EXPECT_EQ(value(results, "cache_bytes_by_layer", {{"layer", 0}, {"cache", 0}}), 2 * 2 * 8 * 4);
  EXPECT_EQ(value(results, "cache_bytes", {{"cache", 0}}), 2 * 2 * 2 * 8 * 4);
  double kept = 0;
  for (Index layer = 0; layer < 2; ++layer) {
    for (Index head : {0, 2}) {
      kept += value(results, "budget_keys",
                    {{"layer", layer}, {"head", head}, {"tolerance", 1}, {"sampler", 1}}) *
              (2 * 8 * 4) / 160;
    }
  }
  EXPECT_NEAR(value(results, "cache_bytes", {{"cache", 1}}), kept, 1e-9);
}

TEST(Converge, AWindowHoldsNoMoreThanItself) {
  DocumentsSource source({160}, true, 64);
  const Results results = converge(source, quick());
  EXPECT_NEAR(value(results, "cache_bytes_by_layer", {{"layer", 0}, {"cache", 0}}),
              2.0 * 2 * 8 * 4 * 64 / 160, 1e-9);
  for (Index head = 0; head < 4; ++head) {
    for (Index sampler = 0; sampler < 3; ++sampler) {
      EXPECT_LE(value(results, "tokens_for_error",
                      {{"layer", 0}, {"head", head}, {"tolerance", 0}, {"sampler", sampler}}),
                // The next point of the grid after the window.
                73);
    }
  }
}

TEST(Converge, LooksAtTheLongestPassOfABidirectionalSource) {
  ConvergeOptions options = quick();
  DocumentsSource source({160}, false);
  const Results two = converge(source, options);
  options.scan.lengths = {160};
  const Results one = converge(source, options);
  for (const char* metric : {"horizon", "rate_mean", "error_constant"}) {
    EXPECT_EQ(value(one, metric, {{"layer", 1}, {"head", 2}}),
              value(two, metric, {{"layer", 1}, {"head", 2}}));
  }
  EXPECT_EQ(two.coord_size("length"), 2);
  EXPECT_EQ(one.metric("cache_bytes"), nullptr);
}

TEST(Converge, PredictsARateForScaledSoftmaxAlone) {
  ConvergeOptions options = quick();
  DocumentsSource source({160}, true);
  options.scan.normalizer = "softmax:t=0.5";
  const Results sharp = converge(source, options);
  const double horizon = value(sharp, "horizon", {{"layer", 0}, {"head", 1}});
  EXPECT_NEAR(value(sharp, "rate_predicted", {{"layer", 0}, {"head", 1}}),
              1 / (2 * (1 + 4 * horizon * horizon)), 1e-12);
  options.scan.normalizer = "sparsemax";
  const Results other = converge(source, options);
  EXPECT_TRUE(std::isnan(value(other, "rate_predicted", {{"layer", 0}, {"head", 1}})));
  EXPECT_TRUE(std::isnan(value(other, "error_constant", {{"layer", 0}, {"head", 1}})));
  EXPECT_FALSE(std::isnan(value(other, "rate_mean", {{"layer", 0}, {"head", 1}})));
}

TEST(Converge, RefusesWhatLeavesNothingToFit) {
  DocumentsSource source({160}, true);
  ConvergeOptions options = quick();
  options.scan.lengths = {63};
  EXPECT_THROW(converge(source, options), BadInputError);
  options = quick();
  options.grid = {20, 161};
  EXPECT_THROW(converge(source, options), UsageError);
  options.grid = {40, 20};
  EXPECT_THROW(converge(source, options), UsageError);
  options = quick();
  options.replicates = 1;
  EXPECT_THROW(converge(source, options), UsageError);
  options = quick();
  options.scan.pattern = "window:size=8";
  EXPECT_THROW(converge(source, options), UsageError);
  options = quick();
  options.scan.measures.clear();
  options.grid = {20, 40, 80};
  const Results few = converge(source, options);
  EXPECT_TRUE(std::isnan(value(few, "rate_mean", {{"layer", 0}, {"head", 0}})));
  expect_part(few.notices.back(), "rates are absent");
}

TEST(Converge, DefaultGridIsThatOfThePaper) {
  EXPECT_EQ(default_grid(512, 10),
            (std::vector<int>{64, 78, 95, 116, 141, 173, 211, 257, 314, 384}));
  EXPECT_EQ(default_grid(64, 2), (std::vector<int>{8, 48}));
}

// A journal of an earlier grid must not be added to one of this.
TEST(Converge, PartsWithOtherNumbersOfKeysAreNotAdded) {
  HeadConvergence part, same, other, none;
  part.budgets = same.budgets = other.budgets = 1;
  part.budget_points = same.budget_points = {8, 16};
  other.budget_points = {8, 12};
  part.budget_error = same.budget_error = other.budget_error = {{.5, 0}};
  part.add(same);
  part.add(none);
  EXPECT_EQ(part.budgets, 2);
  EXPECT_THROW(part.add(other), DamagedPartError);
}

}  // namespace
}  // namespace headgauge
