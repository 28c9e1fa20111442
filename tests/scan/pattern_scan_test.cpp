// Scans under a sparse pattern, against sums over the keys in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "scan/pair_of_heads.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

double logit(const HeadInput& head, Index query, Index key) {
  double sum = 0;
  for (Index d = 0; d < kDimension; ++d) {
    sum += static_cast<double>(head.queries(query, d)) * head.keys(key, d);
  }
  return head.scale * sum;
}

// What a head gives in the mean over its rows, straight from the definitions.
struct Expected {
  double entropy = 0, first_weight = 0, attention_distance = 0, max_weight = 0, visible_keys = 0;
  double effective_tokens = 0, frobenius = 0, kept_mass = 0, output_change = 0, selected_mass = 0;
};

// Softmax over `keys` of logits times a scale, by key; 0 elsewhere.
std::vector<double> softmax(const HeadInput& head, Index query, const std::vector<Index>& keys,
                            double scale) {
  std::vector<double> weights(kLength);
  double sum = 0;
  for (const Index key : keys) {
    sum += weights[key] = std::exp(scale * logit(head, query, key));
  }
  for (double& w : weights) w /= sum;
  return weights;
}

template <class Sees>
Expected expect_of(const HeadInput& head, const Sees& sees, double ssmax = 0) {
  Expected mean;
  int selections = 0;
  for (Index query = 0; query < kLength; ++query) {
    std::vector<Index> all, kept;
    for (Index key = 0; key < kLength; ++key) {
      if (!head.visibility.sees(query, key, kLength)) continue;
      all.push_back(key);
      if (sees(query, key)) kept.push_back(key);
    }
    const auto scale = [&](std::size_t n) {
      return ssmax > 0 ? ssmax * std::log(static_cast<double>(n)) : 1.0;
    };
    const auto a = softmax(head, query, all, scale(all.size()));
    const auto b = softmax(head, query, kept, scale(kept.size()));
    double entropy = 0, square = 0, cube = 0, before = 0, change = 0;
    for (const Index key : kept) {
      const double w = b[key];
      if (w > 0) entropy -= w * std::log(w);
      square += w * w;
      cube += w * w * w;
      mean.attention_distance += w * std::abs(static_cast<double>(query - key));
      mean.kept_mass += a[key];
    }
    for (Index d = 0; d < kDimension; ++d) {
      double o = 0, moved = 0;
      for (std::size_t j = 0; j < a.size(); ++j) {
        o += a[j] * head.values(static_cast<Index>(j), d);
        moved += (b[j] - a[j]) * head.values(static_cast<Index>(j), d);
      }
      before += o * o;
      change += moved * moved;
    }
    mean.output_change += std::sqrt(change / before);
    mean.entropy += entropy;
    mean.effective_tokens += std::exp(entropy);
    mean.first_weight += b[0];
    mean.max_weight += *std::ranges::max_element(b);
    mean.visible_keys += static_cast<double>(kept.size());
    mean.frobenius += std::sqrt(std::max(0.0, square - 2 * cube + square * square));
    if (kept.size() > 5) {
      auto sorted = b;
      std::ranges::sort(sorted, std::greater{});
      for (int k = 0; k < 5; ++k) mean.selected_mass += sorted[k];
      ++selections;
    }
  }
  for (double* value : {&mean.entropy, &mean.first_weight, &mean.attention_distance,
                        &mean.max_weight, &mean.visible_keys, &mean.effective_tokens,
                        &mean.frobenius, &mean.kept_mass, &mean.output_change}) {
    *value /= kLength;
  }
  mean.selected_mass /= selections;
  return mean;
}

void compare(const Results& results, Index head, const Expected& mean) {
  const auto near = [&](const char* name, double expected) {
    EXPECT_NEAR(results.at(name, {0, head, 0}), expected, 2e-5 * std::max(1.0, expected)) << name;
  };
  near("entropy", mean.entropy);
  near("effective_tokens", mean.effective_tokens);
  near("first_weight", mean.first_weight);
  near("attention_distance", mean.attention_distance);
  near("max_weight", mean.max_weight);
  near("visible_keys", mean.visible_keys);
  near("kept_mass", mean.kept_mass);
  near("output_change", mean.output_change);
  EXPECT_NEAR(results.at("selected_mass", {0, head, 0, 1}), mean.selected_mass, 2e-5);
}

TEST(ScanPattern, EveryRowIsThatOfItsKeptKeys) {
  const auto sinks = [](Index i, Index j) { return j < 2 || i - j < 12; };
  for (const Visibility& visibility :
       {Visibility::causal(), Visibility::full(), Visibility::sliding_window(60)}) {
    PairOfHeads source(visibility);
    const Index ahead = visibility.is_causal() ? 9 : 5;
    const auto near = [&](Index i, Index j) {
      return std::min(i, j) < 3 || (i - j < ahead && j - i < 5);
    };
    const Results results = scan(source, options_with("window:size=9,global=3"));
    for (Index h = 0; h < 2; ++h) {
      const HeadInput& head = source.heads()[h];
      const Expected mean = expect_of(head, near);
      compare(results, h, mean);
      EXPECT_NEAR(results.at("jacobian_frobenius", {0, h, 0}), mean.frobenius, 2e-5);
    }
  }
  PairOfHeads source;
  compare(scan(source, options_with("sinks:sinks=2,window=12")), 1,
          expect_of(source.heads()[1], sinks));
  // The normalizer counts the keys that are left; before, all of them.
  compare(scan(source, options_with("sinks:sinks=2,window=12", "ssmax:s=0.6")), 0,
          expect_of(source.heads()[0], sinks, 0.6));
}

TEST(ScanPattern, TheFirstKeysWeightIsNothingWhereItIsHidden) {
  PairOfHeads source;
  const Results results = scan(source, options_with("window:size=10"));
  compare(results, 0, expect_of(source.heads()[0], [](Index i, Index j) { return i - j < 10; }));
  // Only the first ten queries see key 0.
  EXPECT_LT(results.at("first_weight", {0, 0, 0}), 10.0 / kLength);
}

TEST(ScanPattern, AWindowHasTheBitsOfASlidingWindow) {
  PairOfHeads window(Visibility::sliding_window(40)), masked;
  ScanOptions options = options_with("none");
  Results a = scan(window, options);
  options.pattern = "window:size=40";
  const Results b = scan(masked, options);
  // The window of a model leaves too few rows to judge a key by; what a pattern hides from a row
  // has no weight there.
  EXPECT_TRUE(std::isnan(a.at("sink_weight", {0, 0, 0})));
  EXPECT_EQ(b.at("sink_weight", {0, 0, 0}), 0);
  std::erase_if(a.metrics, [](const auto& m) {
    return m.first.starts_with("sink_weight") || m.first == "sink_keys";
  });
  testing::expect_same_values(b, a);
  EXPECT_EQ(a.metric("kept_mass"), nullptr);
  EXPECT_NE(b.metric("kept_mass"), nullptr);
  EXPECT_NEAR(a.at("union_coverage", {0, 0, 1}), b.at("union_coverage", {0, 0, 1}), 0);
  EXPECT_EQ(b.settings["pattern"], "window:size=40");
  EXPECT_EQ(a.settings["pattern"], "none");
}

TEST(ScanPattern, APatternThatKeepsAllKeysChangesNothing) {
  PairOfHeads source;
  const Results plain = scan(source, options_with("none"));
  for (const char* all : {"window:size=150", "topk:k=150"}) {
    ScanOptions options = options_with("none");
    options.own_pattern = make_pattern(all);  // by its name it is refused
    EXPECT_THROW(scan(source, options_with(all)), UsageError);
    const Results results = scan(source, options);
    for (const auto& [name, metric] : plain.metrics) {
      // Bounds from the nearest pair, which is looked for in another way, and cosines of the keys,
      // which are left out under a mask that may choose others for each query.
      if (name.starts_with("separability_") || name.starts_with("mean_cosine")) continue;
      EXPECT_EQ(results.metric(name)->rows, metric.rows) << name;
      for (std::size_t i = 0; i < metric.values.size(); ++i) {
        if (std::isnan(metric.values[i])) continue;
        const Estimate found = results.metric(name)->at_offset(i), expected = metric.at_offset(i);
        EXPECT_EQ(found.value, expected.value) << all << ": " << name;
        for (const auto part : {&Estimate::low, &Estimate::high, &Estimate::p}) {
          if (std::isnan(expected.*part)) continue;
          EXPECT_EQ(found.*part, expected.*part) << all << ": " << name;
        }
      }
    }
    EXPECT_NEAR(results.at("kept_mass", {0, 0, 0}), 1.0, 1e-6);
    EXPECT_EQ(results.at("output_change", {0, 0, 0}), 0.0);
  }
}

TEST(ScanPattern, SameBitsOnAnyNumberOfThreads) {
  for (const char* pattern : {"bigbird:window=9,random=9,global=2,seed=5", "topk"}) {
    PairOfHeads source;
    ScanOptions options = options_with(pattern);
    options.threads = 1;
    const Results one = scan(source, options);
    options.threads = 3;
    testing::expect_same_values(scan(source, options), one);
  }
}

TEST(ScanPattern, SampledRowsAreRowsOfTheWhole) {
  PairOfHeads source;
  ScanOptions options = options_with("sinks:sinks=2,window=9");
  options.queries = 100000;  // more than there are: every row, by the other way
  testing::expect_same_values(scan(source, options),
                              scan(source, options_with("sinks:sinks=2,window=9")));
}

TEST(ScanPattern, SaysOnceThatSomeRowsHaveFewerKeys) {
  PairOfHeads source;
  const Results results = scan(source, options_with("topk:k=64"));
  EXPECT_EQ(testing::notices_with(results, "topk: k = 64"), 1);
}

TEST(ScanPattern, HasNoKeptMassWithoutOne) {
  PairOfHeads source;
  ScanOptions options = options_with("none");
  options.measures = {"counterfactual"};
  EXPECT_THROW(scan(source, options), UnsupportedError);
  options.measures = {"counterfactual", "weights"};
  EXPECT_EQ(scan(source, options).metric("kept_mass"), nullptr);
  options.pattern = "sinks";
  options.measures = {"counterfactual"};
  EXPECT_NE(scan(source, options).metric("kept_mass"), nullptr);
}

TEST(ScanPattern, WithoutValuesThereIsTheKeptMassAlone) {
  PairOfHeads source;
  for (HeadInput& head : source.heads()) head.values = {};
  const Results results = scan(source, options_with("window:size=20"));
  EXPECT_LT(results.at("kept_mass", {0, 0, 0}), 0.9);
  EXPECT_TRUE(std::isnan(results.at("output_change", {0, 0, 0})));
}

// Scores that are all -Inf hide every key of a row: it has no weights without the pattern either.
TEST(ScanPattern, RowsWithoutKeysAreLeftOut) {
  PairOfHeads source;
  Matrix<float> scores(kLength, kLength);
  for (Index i = 0; i < kLength; ++i) {
    const bool hidden = i % 3 == 0 || i >= kLength - 30;
    for (Index j = 0; j < kLength; ++j) {
      scores(i, j) = hidden ? -std::numeric_limits<float>::infinity() : 0.01f * ((i * j) % 17);
    }
  }
  for (HeadInput& head : source.heads()) head.scores = scores;
  const Results results = scan(source, options_with("window:size=20"));
  const double kept = results.at("kept_mass", {0, 0, 0});
  EXPECT_GT(kept, 0.1);
  EXPECT_LT(kept, 0.9);
  EXPECT_EQ(results.metric("kept_mass")->rows[0], 80);
  EXPECT_EQ(results.metric("output_change")->rows[0], 80);
}

// Rows whose output is 0 have no relative change.
TEST(ScanPattern, OutputsOfZeroAreLeftOut) {
  PairOfHeads source;
  const Matrix<float> zero(kLength, kDimension);
  for (HeadInput& head : source.heads()) head.values = zero;
  const Results results = scan(source, options_with("window:size=20"));
  EXPECT_TRUE(std::isnan(results.at("output_change", {0, 0, 0})));
}

// A mask of the library's user, in a head that carries it itself.
class NoKeys final : public KeyMask {
 public:
  void select(Index query, KeyRange, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    keys.clear();
    if (query != 77) keys.push_back(0);
  }
};

TEST(ScanPattern, ARowWithoutKeysIsNamed) {
  PairOfHeads source;
  HeadInput& head = source.heads()[1];
  head.visibility = head.visibility.masked(std::make_shared<NoKeys>());
  expect_part(thrown<BadInputError>([&] { scan(source, options_with("none")); }),
              "layer 0 head 1 row 77");
}

// The keys that a pattern would choose of those that another mask leaves are not its keys of the
// whole range, so that neither mask may replace the other.
TEST(ScanPattern, AHeadThatHidesKeysTakesNoPattern) {
  PairOfHeads source;
  HeadInput& head = source.heads()[1];
  head.visibility = head.visibility.masked(std::make_shared<NoKeys>());
  const auto said = thrown<UnsupportedError>([&] { scan(source, options_with("window:size=8")); });
  for (const char* part : {"window", "head 0.1", "the mask hides"}) expect_part(said, part);
  CompareOptions options{.scan = options_with("none"), .normalizers = {"sparsemax"}};
  options.each = Each::head;
  EXPECT_THROW(headgauge::compare(source, options, make_interventions(options, source.info())),
               UnsupportedError);
}

}  // namespace
}  // namespace headgauge
