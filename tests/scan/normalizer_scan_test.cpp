// Scans under another normalizer than the model's, and of heads with one of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "scan/pair_of_heads.hpp"

namespace headgauge {
namespace {

// The logits of a query to some keys, in float64.
std::vector<double> logits_of(const HeadInput& head, Index query, std::span<const Index> keys,
                              bool cosines) {
  const auto dot = [](std::span<const float> a, std::span<const float> b) {
    double sum = 0;
    for (std::size_t d = 0; d < a.size(); ++d) sum += static_cast<double>(a[d]) * b[d];
    return sum;
  };
  const auto q = head.queries.row(query);
  std::vector<double> logits;
  for (const Index key : keys) {
    const auto k = head.keys.row(key);
    const double scale = cosines ? 1 / std::sqrt(dot(q, q) * dot(k, k)) : head.scale;
    logits.push_back(scale * dot(q, k));
  }
  return logits;
}

// The mean over rows of ||o' - o|| / ||o||, o' under `normalizer` and o under softmax, straight
// from the definition; the keys are those that sees(query, key) says.
template <class Sees>
double expected_change(const HeadInput& head, const Normalizer& normalizer, const Sees& sees) {
  const auto softmax = make_normalizer("softmax");
  double mean = 0;
  for (Index query = 0; query < kLength; ++query) {
    std::vector<Index> keys;
    for (Index key = 0; key <= query; ++key) {
      if (sees(query, key)) keys.push_back(key);
    }
    const RowContext context{std::ssize(keys), query};
    std::vector<double> before(keys.size()), after(keys.size());
    softmax->weigh(logits_of(head, query, keys, false), context, before);
    normalizer.weigh(logits_of(head, query, keys, normalizer.traits().unit_norms), context, after);
    double length = 0, moved = 0;
    for (Index d = 0; d < kDimension; ++d) {
      double o = 0, change = 0;
      for (std::size_t j = 0; j < keys.size(); ++j) {
        o += before[j] * head.values(keys[j], d);
        change += (after[j] - before[j]) * head.values(keys[j], d);
      }
      length += o * o;
      moved += change * change;
    }
    mean += std::sqrt(moved / length) / kLength;
  }
  return mean;
}

const auto every_key = [](Index, Index) { return true; };

// Normalizers of each kind: sparse, of cosines, of the length, with a sink, without a sum of 1.
constexpr auto kNormalizers = {"sparsemax", "cosine:g=5", "ssmax", "softpick", "sigmoid"};

TEST(ScanNormalizer, SaysHowFarItMovesTheOutput) {
  for (const char* name : kNormalizers) {
    PairOfHeads source;
    const Results results = scan(source, options_with("none", name));
    EXPECT_EQ(results.metric("kept_mass"), nullptr) << "of patterns";
    for (Index h = 0; h < 2; ++h) {
      const double expected = expected_change(source.heads()[h], *make_normalizer(name), every_key);
      EXPECT_GT(expected, 0.01) << name;
      EXPECT_NEAR(results.at("output_change", {0, h, 0}), expected, 2e-5 * std::max(1.0, expected))
          << name;
    }
  }
}

// Whatever the logits are, a metric has a finite value and rows, or neither; and the rows that
// weights beyond float32 leave out are left out of every metric, and counted.
TEST(ScanNormalizer, WeightsBeyondFloat32AreLeftOutAndCounted) {
  std::vector<std::string> specs{"sigmoid:b=-45", "sigmoid:b=-60", "softmax:t=1e-39"};
  for (const NormalizerInfo& info : normalizers()) specs.push_back(info.name);
  const auto rows_left = [](const Results& results) {
    std::int64_t rows = 0;
    for (Index h = 0; h < 2; ++h) rows += results.require_metric("mass").at({0, h, 0}).rows;
    return rows;
  };
  std::size_t said = 0;
  for (const std::string& spec : specs) {
    for (const float scale : {1e-12f, 0.7f, 1e3f, 1e12f}) {
      SCOPED_TRACE(spec + " at scale " + std::to_string(scale));
      PairOfHeads source;
      for (HeadInput& head : source.heads()) head.scale = scale;
      Results results;
      try {
        results = scan(source, options_with("none", spec));
      } catch (const AttentionError&) {
        continue;  // refused, by a normalizer that says what it cannot do
      }
      for (const auto& [name, metric] : results.metrics) {
        for (std::size_t k = 0; k < metric.rows.size(); ++k) {
          EXPECT_EQ(std::isfinite(metric.values[k]), metric.rows[k] > 0) << name << " " << k;
        }
      }
      const std::int64_t left_out = 2 * kLength - rows_left(results);
      const std::string notice =
          std::to_string(left_out) + " rows of heads have weights whose squares are beyond float32";
      const auto is_there = [&](const std::string& one) { return one.starts_with(notice); };
      EXPECT_EQ(std::ranges::any_of(results.notices, is_there), left_out > 0) << left_out;
      said += left_out > 0;
    }
  }
  EXPECT_GE(said, 6u) << "nothing was beyond float32";
}

TEST(ScanNormalizer, TheModelsOwnMovesNothing) {
  PairOfHeads source;
  EXPECT_EQ(scan(source, options_with("none")).metric("output_change"), nullptr);
  ScanOptions options = options_with("none");
  options.own_normalizer = make_normalizer("softmax");
  EXPECT_EQ(scan(source, options).at("output_change", {0, 0, 0}), 0);
}

// As HeadIntervention has it: what a head brings with it is what its output is set against.
TEST(ScanNormalizer, AHeadsOwnNormalizerIsItsOriginal) {
  const auto own = make_normalizer("entmax");
  PairOfHeads source;
  source.heads()[1].normalizer = own.get();
  const Results results = scan(source, options_with("none", "sparsemax"));
  EXPECT_GT(results.at("output_change", {0, 0, 0}), 0.01);
  EXPECT_EQ(results.at("output_change", {0, 1, 0}), 0) << "it keeps its own";
}

// A mask of the head's own is there before and after.
TEST(ScanNormalizer, KeysThatTheHeadHidesCountOnNeitherSide) {
  const auto sinks = [](Index i, Index j) { return i - j < 7 || j < 2; };
  for (const char* name : {"sparsemax", "cosine:g=5"}) {
    PairOfHeads source;
    HeadInput& head = source.heads()[0];
    head.visibility = head.visibility.masked(make_pattern("sinks:sinks=2,window=7")->mask(head));
    const Results results = scan(source, options_with("none", name));
    EXPECT_NEAR(results.at("output_change", {0, 0, 0}),
                expected_change(head, *make_normalizer(name), sinks), 2e-5)
        << name;
  }
}

// With both, the pattern alone is what is changed: on top of the normalizer.
TEST(ScanNormalizer, UnderAPatternItIsOnBothSides) {
  PairOfHeads changed, own;
  const auto sparsemax = make_normalizer("sparsemax");
  for (HeadInput& head : own.heads()) head.normalizer = sparsemax.get();
  const Results both = scan(changed, options_with("window:size=20", "sparsemax"));
  const Results pattern = scan(own, options_with("window:size=20"));
  for (const char* metric : {"kept_mass", "output_change"}) {
    EXPECT_EQ(both.at(metric, {0, 0, 0}), pattern.at(metric, {0, 0, 0})) << metric;
  }
}

TEST(ScanNormalizer, WithoutValuesThereIsNoChange) {
  class WithoutValues final : public PairOfHeads {
   public:
    WithoutValues() {
      info_.has_values = false;
      for (HeadInput& head : heads()) head.values = {};
    }
  } source;
  ScanOptions options = options_with("none", "sparsemax");
  EXPECT_EQ(scan(source, options).metric("output_change"), nullptr);
  options.measures = {"counterfactual"};
  EXPECT_THROW(scan(source, options), UnsupportedError);
}

// compare changes the normalizer of single heads: theirs counts, not the scan's.
TEST(ScanNormalizer, AHeadsOwnNormalizerIsObeyed) {
  for (const char* name : {"cosine:g=5", "sparsemax", "softpick", "ssmax", "sigmoid"}) {
    const auto normalizer = make_normalizer(name);
    PairOfHeads plain, mixed;
    mixed.heads()[0].normalizer = normalizer.get();
    const Results all = scan(plain, options_with("none", name));
    const Results none = scan(plain, options_with("none"));
    const Results both = scan(mixed, options_with("none"));
    for (const char* metric : {"entropy_with_sinks", "max_weight_with_sinks", "mass",
                               "jacobian_spectral", "mass_90_with_sinks"}) {
      EXPECT_EQ(both.at(metric, {0, 0, 0}), all.at(metric, {0, 0, 0})) << name << " " << metric;
      EXPECT_EQ(both.at(metric, {0, 1, 0}), none.at(metric, {0, 1, 0})) << name << " " << metric;
    }
    for (const char* metric : {"distance", "separability_with_sinks", "selected_mass"}) {
      EXPECT_EQ(both.at(metric, {0, 0, 0, 1}), all.at(metric, {0, 0, 0, 1})) << name << metric;
      EXPECT_EQ(both.at(metric, {0, 1, 0, 1}), none.at(metric, {0, 1, 0, 1})) << name << metric;
    }
    EXPECT_NE(all.at("entropy_with_sinks", {0, 0, 0}), none.at("entropy_with_sinks", {0, 0, 0}));
  }
}

}  // namespace
}  // namespace headgauge
