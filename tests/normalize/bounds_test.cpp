// The inequalities of math sections 1 and 4 as properties of thousands of rows.
#include <algorithm>
#include <cmath>
#include <vector>

#include "headgauge/normalize.hpp"
#include "kernels/levels.hpp"
#include "normalize/every_spec.hpp"
#include "normalize/rows.hpp"

namespace headgauge {
namespace {

class Bounds : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(Bounds);

constexpr std::uint64_t kRows = 3000;
// Rounding of float32 weights and of sums over them.
constexpr double kSlack = 1 + 3e-6;

// Math L2v for softmax at temperature t: G = 1/t, F'/S = a/t.
TEST_P(Bounds, TheValidBoundsOnTheJacobianHold) {
  const auto normalizer = make_normalizer(GetParam() == "avx2" ? "softmax:t=0.3" : "softmax");
  const double g = 2 * normalizer->traits().lipschitz;
  std::size_t tight = 0;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const auto logits = any_row(i);
    const std::size_t size = logits.size();
    const double n = static_cast<double>(size);
    const RowContext context{static_cast<Index>(size), static_cast<Index>(size) - 1};
    std::vector<float> a(size);
    const WeightSums sums = normalizer->weigh(logits, context, std::span(a));
    const auto norms = normalizer->jacobian_norms(logits, a, sums, context);
    double top = 0, product = 0, square = 0;
    for (std::size_t j = 0; j < size; ++j) {
      double others = 0;
      for (std::size_t k = 0; k < size; ++k) others += k == j ? 0.0 : a[k];
      top = std::max<double>(top, a[j]);
      product = std::max(product, a[j] * others);
      square += double{a[j]} * a[j];
    }
    const double spectral = norms.spectral, frobenius = norms.frobenius;
    if (size > 1 && sums.rest_mass < 1e-30 && sums.max_count == 1) continue;  // beyond float32
    EXPECT_LE(spectral, kSlack * g / 2) << "(a) " << i;
    EXPECT_LE(frobenius, kSlack * g / 2) << "(b) " << i;
    EXPECT_LE(spectral, kSlack * g * 2 * product) << "(c) " << i;
    EXPECT_LE(spectral, kSlack * g * top) << "(d) " << i;
    EXPECT_LE(product * g, kSlack * g / 4) << "(e) " << i;
    EXPECT_LE(product * g, kSlack * spectral) << "an entry is at most the norm, " << i;
    EXPECT_LE(spectral, kSlack * g * top * std::sqrt(n) * std::sqrt(square)) << "(f) " << i;
    EXPECT_LE(spectral, kSlack * frobenius) << i;
    EXPECT_LE(spectral, kSlack * norms.bound) << i;
    const double smallest =
        g * std::min({0.5, 2 * product, top, top * std::sqrt(n) * std::sqrt(square)});
    EXPECT_NEAR(norms.bound, smallest, 5e-6 * smallest) << i;
    // L2, first form, is valid too, and looser.
    EXPECT_LE(spectral, kSlack * norms.bound_paper) << i;
    const double printed = g * top * (1 + std::sqrt(n) * std::sqrt(square));
    EXPECT_NEAR(norms.bound_paper, printed, 5e-6 * printed) << i;
    if (spectral > 0.99 * norms.bound && size > 1) ++tight;
  }
  // The bound says something: many rows come near it.
  EXPECT_GT(tight, kRows / 10);
}

// Math N5: one key of weight w beside m equal ones of weight b has the norm w^p b^p (m + 1) /
// (w^p + m b^p), p = 2 - alpha, which comes near the bound of 1 in long rows.
TEST(BoundsInDoublePrecision, LongRowsOfEntmaxComeNearItsBound) {
  const auto normalizer = make_normalizer("entmax:alpha=1.5");
  double last = std::pow(2, -0.5);  // that of two equal keys
  for (const Index n : {64, 512, 4096}) {
    const auto m = static_cast<double>(n - 1);
    double largest = 0;
    for (double w = 0.5; w < 0.999; w += 0.01) {
      const double b = (1 - w) / m;
      std::vector<double> row(n, 2 * std::sqrt(b));  // a = (l/2 - tau)^2 with tau = 0
      row[0] = 2 * std::sqrt(w);
      const RowContext context{n, n - 1};
      Jacobian j;
      normalizer->jacobian(row, context, j);
      const double r = std::sqrt(w), s = std::sqrt(b);
      EXPECT_NEAR(j.spectral(), r * s * (m + 1) / (r + m * s), 1e-9);
      const std::vector<float> narrow(row.begin(), row.end());
      std::vector<float> weights(n);
      const WeightSums sums = normalizer->weigh(narrow, context, std::span(weights));
      const auto norms = normalizer->jacobian_norms(narrow, weights, sums, context);
      EXPECT_LE(norms.spectral, norms.bound * (1 + 1e-6));
      largest = std::max(largest, j.spectral());
    }
    EXPECT_GT(largest, last) << n;
    EXPECT_LT(largest, normalizer->lipschitz({n, n - 1})) << n;
    last = largest;
  }
  EXPECT_NEAR(last, 0.9133, 1e-4);
}

// Math L3(a): every rule here treats keys alike.
TEST(BoundsInDoublePrecision, NoRuleGivesAGapMoreThanItsGradientsAllow) {
  std::size_t tried = 0;
  for (const std::string& spec : every_spec()) {
    const auto normalizer = make_normalizer(spec);
    if (normalizer->traits().by_position) continue;
    for (const Index n : {2, 3, 30, 1000}) {
      const RowContext context{n, n - 1};
      const double k = normalizer->lipschitz(context);
      if (std::isinf(k)) continue;
      std::vector<double> row(n), weights(n);
      normalizer->weigh(row, context, std::span(weights));
      const double before = weights[0];
      for (const double gap : {0.01, 0.3, 1.0, 4.0}) {
        row[0] = gap;
        normalizer->weigh(row, context, std::span(weights));
        EXPECT_LE(weights[0], before + k * gap + 1e-12) << spec << " of " << n << " at " << gap;
        if (normalizer->traits().simplex) {
          EXPECT_LE(weights[0], 1.0 / static_cast<double>(n) + k * gap + 1e-12) << spec;
        }
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 200);
}

// Math L3(b) and (c): what a key keeps in a growing row of equal others.
TEST(BoundsInDoublePrecision, EntmaxLognGivesAGapTheMostThatAnyRuleOfItsGradientsCan) {
  const auto of_top = [](const char* spec, Index n, double gap) {
    std::vector<double> row(n), weights(n);
    row[0] = gap;
    make_normalizer(spec)->weigh(row, {n, n - 1}, std::span(weights));
    return weights[0];
  };
  for (const double gap : {0.25, 0.5, 0.9}) {
    double last = 0;
    for (const Index n : {Index{1000}, Index{30'000}, Index{1'000'000}}) {
      const double found = of_top("entmax-logn:s=1", n, gap);
      EXPECT_GT(found, last) << n;  // the longer the row, the nearer to min(1, gap)
      EXPECT_LT(found, gap) << n;
      last = found;
    }
    EXPECT_NEAR(of_top("entmax-logn:s=1000", 1'000'000, gap), gap, 2e-3);
    EXPECT_NEAR(of_top("entmax:alpha=1.5", 1'000'000, gap), gap * gap / 4, 2e-3);
    EXPECT_LT(of_top("softmax", 1'000'000, gap), 1e-5);
  }
}

// Math L1 with F = exp on [-r, r]: m = e^-r, M = e^r; and Corollary 1 with D/T = r.
TEST_P(Bounds, LemmaOneAndCorollaryOneHoldOnSoftmaxWeights) {
  const auto normalizer = make_normalizer("softmax");
  std::size_t violated = 0;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const auto logits = any_row(i);
    const double n = static_cast<double>(logits.size());
    std::vector<float> a(logits.size());
    const RowContext context{static_cast<Index>(logits.size()), 0};
    const WeightSums sums = normalizer->weigh(logits, context, std::span(a));
    double r = 0;
    for (float l : logits) r = std::max(r, std::abs(double{l}));
    if (r > 40) continue;  // bounds below the smallest float
    const double m = std::exp(-r), big = std::exp(r);
    const double least = m / (m + (n - 1) * big), most = big / (big + (n - 1) * m);
    for (float w : a) {
      EXPECT_GE(w * kSlack, m / big / n) << i;
      EXPECT_LE(w, kSlack * big / m / n) << i;
      EXPECT_GE(w * kSlack, least) << i;
      EXPECT_LE(w, kSlack * most) << i;
      // Corollary 1: (1/L) exp(-2D/T) <= a <= (1/L) exp(2D/T).
      EXPECT_GE(w * kSlack, std::exp(-2 * r) / n) << i;
      EXPECT_LE(w, kSlack * std::exp(2 * r) / n) << i;
      if (w > 1.01 / n || w < 0.99 / n) ++violated;
    }
    // And so H >= log L - 2D/T.
    EXPECT_GE(sums.entropy + 1e-5, std::log(n) - 2 * r) << i;
    EXPECT_GE(n * sums.max * kSlack, 1.0);
    EXPECT_LE(n * sums.min, kSlack);
  }
  EXPECT_GT(violated, 0u) << "rows far from even are among them";
}

// Math C-6: 1/(4T), a bound on entries, is not one on the norm.
TEST_P(Bounds, AQuarterDoesNotBoundTheNorm) {
  const auto normalizer = make_normalizer("softmax");
  std::vector<float> a(2);
  const std::vector<float> logits = {1.5f, 1.5f};
  const WeightSums sums = normalizer->weigh(logits, {2, 1}, std::span(a));
  EXPECT_EQ(normalizer->jacobian_norms(logits, a, sums, {2, 1}).spectral, 0.5);
}

}  // namespace
}  // namespace headgauge
