// Which keys are kept of an example's query, against lists made in float64 from the logits.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "made_source.hpp"
#include "measures/examples.hpp"

namespace headgauge {
namespace {

constexpr Index kQueries = 120;

using Logit = std::function<double(Index query, Index key)>;

// One head whose logits are known, and whose model may have a rule of its own.
class HeadOfLogits final : public SourceOfHeads {
 public:
  explicit HeadOfLogits(const Logit& logit, const std::string& rule = "",
                        const Visibility& visibility = Visibility::causal())
      : SourceOfHeads(1, kQueries, visibility),
        queries_(kQueries, kQueries),
        keys_(kQueries, kQueries) {
    if (!rule.empty()) rule_ = make_normalizer(rule);
    for (Index t = 0; t < kQueries; ++t) {
      for (Index j = 0; j < kQueries; ++j) {
        queries_(t, j) = t == j ? 1.0f : 0.0f;
        keys_(j, t) = static_cast<float>(logit(t, j));
      }
    }
    heads_.front().queries = std::as_const(queries_).view();
    heads_.front().keys = std::as_const(keys_).view();
    heads_.front().normalizer = rule_.get();
    info_.head_dim = static_cast<int>(kQueries);
  }

 private:
  Matrix<float> queries_, keys_;
  std::unique_ptr<Normalizer> rule_;
};

// The weights of a row by key, 0 where the row does not see the key.
using Weights = std::vector<double>;
using Row64 = std::function<Weights(Index query)>;

Weights shares_of(const Weights& weights) {
  double mass = 0;
  for (const double w : weights) mass += std::abs(w);
  Weights shares;
  for (const double w : weights) shares.push_back(std::abs(w) / mass);
  return shares;
}

// Those that together hold enough, the heaviest first and of equal ones the earlier.
std::vector<Index> heaviest_of(const Weights& shares) {
  std::vector<Index> keys(shares.size());
  std::iota(keys.begin(), keys.end(), 0);
  std::ranges::stable_sort(keys, std::greater(), [&](Index j) { return shares[j]; });
  double held = 0;
  std::vector<Index> kept;
  for (const Index j : keys) {
    if (held >= kExampleShare || shares[j] == 0 || kept.size() == kExampleKeys) break;
    held += shares[j];
    kept.push_back(j);
  }
  return kept;
}

std::vector<Example> examples_of(HeadSource& source, const std::string& pattern = "none") {
  ScanOptions options;
  options.lengths = {static_cast<int>(kQueries)};
  options.measures = {"weights"};
  options.pattern = pattern;
  options.examples = 12;
  return scan(source, options).examples;
}

// Weights are written with four digits.
void expect_written(double found, double expected) {
  EXPECT_NEAR(found, expected, 5.1e-4 * std::abs(expected) + 1e-9);
}

void expect_heaviest(const std::vector<Example>& examples, const Row64& weights) {
  ASSERT_GE(examples.size(), 4U);
  for (const Example& example : examples) {
    SCOPED_TRACE(example.query);
    const Weights row = weights(example.query);
    EXPECT_EQ(example.keys, heaviest_of(shares_of(row)));
    double held = 0;
    for (std::size_t i = 0; i < example.keys.size(); ++i) {
      expect_written(example.weights[i], row[example.keys[i]]);
      held += shares_of(row)[example.keys[i]];
    }
    expect_written(example.covered, held);
    EXPECT_EQ(*example.others, example.query + 1 - std::ssize(example.keys));
  }
}

// Logits of a spread, the same for a query and a key each time.
Logit random_logits(double spread) {
  return [spread](Index query, Index key) {
    std::mt19937 generator(static_cast<unsigned>(1000 * query + key));
    return double{static_cast<float>(std::normal_distribution<double>(0, spread)(generator))};
  };
}

Weights each(Index query, const std::function<double(Index)>& weight) {
  Weights row;
  for (Index j = 0; j <= query; ++j) row.push_back(weight(j));
  return row;
}

Weights softmax_of(Index query, const Logit& logit) {
  Weights row = each(query, [&](Index j) { return std::exp(logit(query, j)); });
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  for (double& w : row) w /= sum;
  return row;
}

TEST(HeaviestKeys, AreThoseThatHoldEnoughOfTheWeight) {
  for (const double spread : {1.5, 4.0}) {
    const Logit logit = random_logits(spread);
    HeadOfLogits source(logit);
    expect_heaviest(examples_of(source), [&](Index t) { return softmax_of(t, logit); });
  }
}

TEST(HeaviestKeys, OfEqualOnesAreTheFirst) {
  const Logit even = [](Index, Index) { return 0.0; };
  HeadOfLogits source(even);
  expect_heaviest(examples_of(source), [&](Index t) { return softmax_of(t, even); });
  // Steps of weight: the last that is kept is one of several.
  const Logit steps = [](Index, Index j) { return static_cast<double>(j % 7) / 4; };
  HeadOfLogits stepped(steps);
  expect_heaviest(examples_of(stepped), [&](Index t) { return softmax_of(t, steps); });
}

// Weights that do not sum to 1, and some without weight.
TEST(HeaviestKeys, AreSharesOfAllTheWeightOfTheRow) {
  const Logit logit = random_logits(4);
  HeadOfLogits sigmoid(logit, "sigmoid:b=0");
  expect_heaviest(examples_of(sigmoid), [&](Index t) {
    return each(t, [&](Index j) { return 1 / (1 + std::exp(-logit(t, j))); });
  });
}

// Those with and those without a change in turn, by the larger share of the two.
TEST(HeaviestKeys, UnderAPatternAreThoseThatItHidesToo) {
  constexpr Index kWindow = 90, kKept = 20;
  for (const double spread : {0.0, 0.5, 3.0}) {
    const Logit logit = random_logits(spread);
    HeadOfLogits source(logit, "", Visibility::sliding_window(kWindow));
    const auto seen = [&](Index t, Index window) {
      Weights row = softmax_of(t, logit);
      for (Index j = 0; j + window <= t; ++j) row[j] = 0;
      return shares_of(row);
    };
    for (const Example& example : examples_of(source, "window:size=20")) {
      SCOPED_TRACE(fmt::format("spread {}, query {}", spread, example.query));
      const Weights changed = seen(example.query, kKept), before = seen(example.query, kWindow);
      const std::vector<Index> with = heaviest_of(changed), without = heaviest_of(before);
      std::vector<Index> keys;
      for (std::size_t k = 0; k < kExampleKeys; ++k) {
        for (const auto* from : {&with, &without}) {
          if (k >= from->size() || keys.size() == kExampleKeys) continue;
          if (std::ranges::find(keys, (*from)[k]) == keys.end()) keys.push_back((*from)[k]);
        }
      }
      std::ranges::sort(keys);
      std::ranges::stable_sort(keys, std::greater(),
                               [&](Index j) { return std::max(changed[j], before[j]); });
      EXPECT_EQ(example.keys, keys);
      for (std::size_t i = 0; i < example.keys.size(); ++i) {
        expect_written(example.weights[i], changed[example.keys[i]]);
        expect_written(example.originals[i], before[example.keys[i]]);
      }
    }
  }
}

}  // namespace
}  // namespace headgauge
