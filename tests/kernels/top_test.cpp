#include "kernels/top.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "kernels/levels.hpp"

namespace headgauge {
namespace {

class Top : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(Top);

// The obvious way: a stable sort of all positions by value.
std::vector<std::uint32_t> sorted_positions(const std::vector<float>& values) {
  std::vector<std::uint32_t> out(values.size());
  std::iota(out.begin(), out.end(), 0u);
  std::stable_sort(out.begin(), out.end(),
                   [&](std::uint32_t i, std::uint32_t j) { return values[i] > values[j]; });
  return out;
}

void expect_top(const std::vector<float>& values, std::initializer_list<Index> counts,
                const std::string& what) {
  constexpr std::uint32_t kUntouched = 0xdeadbeef;
  TopWorkspace workspace;
  const auto expected = sorted_positions(values);
  for (const Index count : counts) {
    std::vector<std::uint32_t> got(values.size() + 1, kUntouched);
    const Index k = std::min(count, std::ssize(values));
    ASSERT_EQ(select_top(values, count, got, workspace), k) << what;
    for (Index i = 0; i < k; ++i) {
      ASSERT_EQ(got[i], expected[i])
          << what << ": place " << i << " of " << count << " of " << values.size();
    }
    ASSERT_EQ(got[k], kUntouched) << what << ": written past the end";
  }
}

constexpr auto kCounts = {Index{1},   Index{2},   Index{5},   Index{24},  Index{25},
                          Index{52},  Index{100}, Index{112}, Index{113}, Index{128},
                          Index{224}, Index{225}, Index{300}};

std::vector<Index> top_row_lengths() {
  std::vector<Index> out;
  for (Index n = 1; n <= 300; ++n) out.push_back(n);
  for (const Index n : {511, 513, 1000, 1024, 4097, 16384}) out.push_back(n);
  return out;
}

TEST_P(Top, RandomRows) {
  for (const Index n : top_row_lengths()) {
    const auto seed = static_cast<std::uint64_t>(n);
    const auto logits = normals(n, seed);
    expect_top(logits, kCounts, "normal");
    // Weights: flat, usual and steep rows.
    for (const double spread : {0.01, 2.0, 30.0}) {
      auto weights = logits;
      for (float& w : weights) w = static_cast<float>(std::exp(spread * w));
      expect_top(weights, kCounts, "exp of " + std::to_string(spread));
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(Top, EqualValuesComeInTheOrderOfTheirPositions) {
  for (const Index n : top_row_lengths()) {
    for (const float value : {0.0f, 1.0f / 1024.0f, -3.0f}) {
      expect_top(std::vector<float>(n, value), kCounts, "all equal");
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(Top, FewDistinctValues) {
  // Ties of every size at the threshold.
  for (const Index n : {33, 129, 300, 1024, 4097}) {
    for (const int distinct : {2, 3, 7, 50}) {
      Generator generator(static_cast<std::uint64_t>(n * 100 + distinct));
      std::vector<float> values(n);
      for (float& x : values) x = static_cast<float>(generator() % std::uint64_t(distinct)) * 0.1f;
      expect_top(values, kCounts, "few distinct");
      // One value towers over, many share the rest.
      std::fill(values.begin(), values.end(), 1e-4f);
      values[values.size() / 3] = 0.9f;
      values[values.size() / 2] = 0.05f;
      expect_top(values, kCounts, "sink");
    }
  }
}

TEST_P(Top, NeighbouringFloats) {
  // Values one unit in the last place apart, with far outliers: keys of 32 bits cannot tell them
  // apart, and no sample predicts where they are.
  for (const Index n : {100, 129, 257, 1024, 5000}) {
    std::vector<float> values(n);
    Generator generator(static_cast<std::uint64_t>(n));
    for (float& x : values) {
      x = 0.25f;
      for (std::uint64_t step = generator() % 6; step > 0; --step) x = std::nextafter(x, 1.0f);
    }
    expect_top(values, kCounts, "neighbours");
    values[7] = 1e30f;
    values[8] = -1e30f;
    values[9] = 1e-30f;
    expect_top(values, kCounts, "neighbours and outliers");
  }
}

TEST_P(Top, SortedRowsBothWaysAndAlternating) {
  for (const Index n : {64, 128, 129, 1024, 3000}) {
    std::vector<float> values(n);
    std::iota(values.begin(), values.end(), -100.0f);
    expect_top(values, kCounts, "ascending");
    std::reverse(values.begin(), values.end());
    expect_top(values, kCounts, "descending");
    for (std::size_t i = 0; i < values.size(); i += 2) values[i] = -values[i];
    expect_top(values, kCounts, "alternating");
    // A sample of every eighth vector sees nothing of the largest.
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = i / 16 % 2 == 0 ? 1e-20f * float(i) : 1.0f + float(i);
    }
    expect_top(values, kCounts, "hidden from the sample");
  }
}

TEST_P(Top, MinusZeroEqualsZero) {
  for (const Index n : {5, 40, 300, 1024}) {
    std::vector<float> values(n);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 0 ? 0.0f : -0.0f;
    expect_top(values, kCounts, "zeros");
    values[values.size() / 2] = std::numeric_limits<float>::denorm_min();
    values[values.size() / 3] = -std::numeric_limits<float>::denorm_min();
    expect_top(values, kCounts, "zeros and subnormals");
  }
}

TEST_P(Top, InfinitiesAndTheWholeRangeOfFloats) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  for (const Index n : {40, 300, 1024}) {
    std::vector<float> values(n);
    Generator generator(static_cast<std::uint64_t>(n));
    for (float& x : values) {
      do {
        x = std::bit_cast<float>(static_cast<std::uint32_t>(generator()));
      } while (std::isnan(x));
    }
    values[3] = kInfinite;
    values[5] = -kInfinite;
    expect_top(values, kCounts, "any bits");
    std::fill(values.begin(), values.end(), -kInfinite);
    values[9] = 1.0f;
    expect_top(values, kCounts, "minus infinity");
    std::fill(values.begin(), values.end(), kInfinite);
    expect_top(values, kCounts, "infinity");
  }
}

TEST_P(Top, NanNeitherHangsNorOverflows) {
  TopWorkspace workspace;
  std::vector<float> values(1000, std::numeric_limits<float>::quiet_NaN());
  std::vector<std::uint32_t> got(1000, 0);
  select_top(values, 100, got, workspace);
  values[3] = 1.0f;
  select_top(values, 100, got, workspace);
  for (const std::uint32_t i : got) EXPECT_LT(i, 1000u);
}

class MassQuantile : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(MassQuantile);

// Sorts all; the slack of 1e-6 is part of the definition.
Index reference_quantile(std::vector<float> weights, double fraction) {
  std::sort(weights.begin(), weights.end(), std::greater<>());
  long double total = 0.0L, sum = 0.0L;
  for (const float w : weights) total += w;
  if (total == 0.0L) return 0;
  Index k = 0;
  while (sum < fraction * total * (1.0L - 1e-6L)) sum += weights[k++];
  return k;
}

void expect_quantiles(const std::vector<float>& weights, const std::string& what) {
  TopWorkspace workspace;
  for (const double fraction : {0.0, 0.01, 0.5, 0.9, 0.99, 1.0}) {
    ASSERT_EQ(mass_quantile(weights, fraction, workspace), reference_quantile(weights, fraction))
        << what << ", n = " << weights.size() << ", fraction " << fraction;
  }
}

TEST_P(MassQuantile, AgreesWithSortingAll) {
  for (const Index n : top_row_lengths()) {
    const auto logits = normals(n, static_cast<std::uint64_t>(n));
    for (const double spread : {0.0, 1e-6, 0.01, 1.0, 3.0, 10.0, 40.0}) {
      double total = 0.0;
      for (const float l : logits) total += std::exp(spread * l);
      std::vector<float> weights(logits.size());
      for (std::size_t i = 0; i < weights.size(); ++i) {
        weights[i] = static_cast<float>(std::exp(spread * logits[i]) / total);
      }
      expect_quantiles(weights, "spread " + std::to_string(spread));
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(MassQuantile, UniformRowsNeedTheirShare) {
  TopWorkspace workspace;
  for (Index n = 1; n <= 2000; n += 1 + n / 50) {
    const std::vector<float> weights(n, 1.0f / static_cast<float>(n));
    const Index expected = (9 * n + 9) / 10;  // the smallest k with k / n >= 9 / 10
    ASSERT_EQ(mass_quantile(weights, 0.9, workspace), expected) << n;
  }
}

TEST_P(MassQuantile, TiesZerosAndOneHot) {
  for (const Index n : {1, 2, 17, 100, 300, 1024, 5000}) {
    std::vector<float> weights(n, 0.0f);
    expect_quantiles(weights, "all zero");
    weights[weights.size() / 2] = 1.0f;
    expect_quantiles(weights, "one-hot");
    weights.front() = -0.0f;
    expect_quantiles(weights, "minus zero");
    Generator generator(static_cast<std::uint64_t>(n));
    for (float& w : weights) w = static_cast<float>(generator() % 3) * 0.125f;
    expect_quantiles(weights, "three values");
    std::fill(weights.begin(), weights.end(), 1e-4f);
    weights[weights.size() / 2] = 0.9f;
    expect_quantiles(weights, "sink");
    // Weights of very different sizes, and subnormal ones.
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = std::ldexp(1.0f, -int(i % 140));
    expect_quantiles(weights, "powers of two");
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace headgauge
