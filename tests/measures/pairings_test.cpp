// Weights dealt out anew to the keys of a row.
#include "measures/separability_nulls.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "measures/made_heads.hpp"

namespace headgauge {
namespace {

// What a permutation of n keys does, drawn from stream number `number`.
std::vector<std::uint32_t> drawn(Pairing pairing, Index n, std::uint32_t number) {
  std::vector<std::uint32_t> to(n), words;
  draw_pairing(pairing, RandomStream(5, RandomDomain::separability_pairing, 1, number), to, words);
  return to;
}

TEST(Pairings, AreUniformPermutations) {
  constexpr Index kKeys = 40, kDraws = 4000;
  Matrix<double> counts(kKeys, kKeys);
  for (std::uint32_t draw = 0; draw < kDraws; ++draw) {
    const auto to = drawn(Pairing::any, kKeys, draw);
    std::vector<std::uint32_t> sorted = to;
    std::ranges::sort(sorted);
    for (Index i = 0; i < kKeys; ++i) {
      ASSERT_EQ(sorted[i], i);
      ++counts(i, to[i]);
    }
  }
  // Chi-square of each key with 39 degrees of freedom.
  for (Index i = 0; i < kKeys; ++i) {
    double chi2 = 0;
    constexpr double kExpected = static_cast<double>(kDraws) / kKeys;
    for (const double count : counts.row(i)) chi2 += std::pow(count - kExpected, 2) / kExpected;
    EXPECT_LT(chi2, 90.0) << i;
    EXPECT_GT(chi2, 10.0) << i;
  }
}

TEST(Pairings, LocalOnesStayAmongThirtyTwoNeighboursCountedFromTheLastKey) {
  for (const Index n : {1, 31, 32, 33, 100}) {
    std::vector<bool> moved(n, false);
    for (std::uint32_t draw = 0; draw < 20; ++draw) {
      const auto to = drawn(Pairing::local, n, draw);
      for (Index i = 0; i < n; ++i) {
        EXPECT_EQ((n - 1 - i) / 32, (n - 1 - to[i]) / 32) << i << " of " << n;
        if (to[i] != i) moved[i] = true;
      }
    }
    // A block of one key has nowhere to go.
    EXPECT_EQ(std::ranges::count(moved, false), n % 32 == 1 ? 1 : 0) << n;
  }
}

// Weights that are not increasing in the logit.
class Squares final : public Normalizer {
 public:
  const NormalizerInfo& info() const override { return info_; }
  NormalizerTraits traits() const override { return {.simplex = false, .increasing = false}; }
  void jacobian(std::span<const double>, const RowContext&, Jacobian&) const override {}

 protected:
  void weigh_row(std::span<const double> logits, const RowContext&,
                 std::span<double> weights) const override {
    std::ranges::transform(logits, weights.begin(), [](double l) { return l * l; });
  }

 private:
  NormalizerInfo info_;
};

// A permuted row ranks its ties by key, as any row: equal logits under a normalizer that keeps
// their order, equal weights (many are 0) under one that does not.
TEST(Pairings, PermutedRowsRankTiesByKey) {
  MadeHead head = make_head({.length = 80, .dimension = 12, .sharpness = 2.0});
  for (Index q = 0; q < 80; ++q) {
    for (float& l : head.logits.row(q)) l = std::round(l);
  }
  const HeadInput input = head.input();
  for (const bool increasing : {true, false}) {
    const auto normalizer = increasing ? make_normalizer("softmax") : std::make_unique<Squares>();
    for (Index q = 30; q < 80; ++q) {
      const Index n = q + 1;
      std::vector<float> weights(n), moved(n);
      std::vector<std::uint32_t> top(20), expected(20);
      Row row;
      row.query = q;
      row.keys = {0, n};
      row.logits = head.logits.row(q).first(n);
      row.sums = normalizer->weigh(row.logits, {n, q}, weights);
      row.weights = weights;
      const std::span<const float> ranking = increasing ? row.logits : row.weights;
      TopWorkspace select;
      select_top(ranking, 20, top, select);
      row.top = top;
      const std::vector<Row> rows{row, row};
      PairedRows paired;
      paired.begin({&input, normalizer.get(), rows}, 20);
      paired.add(0, Pairing::any, RandomStream(3, RandomDomain::separability_pairing, 1, 2));
      paired.add(1, Pairing::local, RandomStream(3, RandomDomain::separability_pairing, 1, 2));
      for (Index i = 0; i < 2; ++i) {
        const auto to = paired.pairing(i);
        for (Index j = 0; j < n; ++j) {
          EXPECT_EQ(paired.block().rows[i].weights[to[j]], weights[j]);
          moved[to[j]] = ranking[j];
        }
        select_top(moved, 20, expected, select);
        ASSERT_TRUE(std::ranges::equal(paired.block().rows[i].top, expected)) << "row " << q;
      }
    }
  }
}

}  // namespace
}  // namespace headgauge
