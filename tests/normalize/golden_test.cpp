// Golden numbers of docs/mathematics.md 6 and 8.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "headgauge/normalize.hpp"

namespace headgauge {
namespace {

std::vector<double> weigh(const std::string& spec, const std::vector<double>& logits) {
  std::vector<double> a(logits.size());
  const auto n = static_cast<Index>(logits.size());
  make_normalizer(spec)->weigh(logits, {n, n - 1}, std::span(a));
  return a;
}

void expect(const std::string& spec, const std::vector<double>& logits,
            const std::vector<double>& golden, double tolerance = 1e-6) {
  const auto a = weigh(spec, logits);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], golden[i], tolerance) << spec << i;
}

TEST(Golden, Weights) {
  expect("sparsemax", {-2, 0, .5}, {0, .25, .75});
  expect("entmax", {-2, 0, .5}, {0, .3260, .6740}, 5e-5);
  expect("sparsemax", {.5, .2, -1}, {.65, .35, 0});
  // N19: alpha is 2 - 1/(1 + s log 3), 1.5234946 and 1.2154728; found by bisection.
  expect("entmax-logn:s=1", {-2, 0, .5}, {0, .3230700, .6769300});
  expect("entmax-logn", {-2, 0, .5}, {.0097265, .3539121, .6363614});
  expect("softpick", {1, -1}, {.731059, 0});
  expect("uniform", {1, -1, 30}, {1 / 3., 1 / 3., 1 / 3.});
  expect("sasoftmax", {1, -1}, {.880797, 0});
  expect("sigmoid", {0, 0, 0, 0}, {.2, .2, .2, .2});
  // Stieltjes q = 1 at two zeros: lam = 2, so each has 1/2 = (2 - 0)^-1.
  expect("stieltjes:q=1", {0, 0}, {.5, .5});
  expect("topk:k=2", {1, 3, 2}, {0, std::exp(1) / (1 + std::exp(1)), 1 / (1 + std::exp(1))});
  expect("poly:p=3", {2, -1, 0, 1}, {4, -.5, 0, .5});
  expect("relu", {2, -1, 0, 1}, {.5, 0, 0, .25});
}

// One logit 3 and n - 1 zeros: SSMax keeps its largest weight, softmax loses it.
TEST(Golden, SsmaxDoesNotFade) {
  const std::vector<std::pair<std::size_t, std::pair<double, double>>> golden = {
      {10, {.6842, .6906}},
      {100, {.7934, .1687}},
      {1000, {.8812, .0197}},
      {100000, {.9657, .0002}}};
  for (const auto& [n, weights] : golden) {
    std::vector<double> logits(n, 0.0);
    logits[0] = 3;
    EXPECT_NEAR(weigh("ssmax", logits)[0], weights.first, 6e-5);
    EXPECT_NEAR(weigh("softmax", logits)[0], weights.second, 6e-5);
  }
}

// P(2) with the powers in the order of the paper, not in that of a program that had them reversed.
TEST(Golden, AdaptiveTemperatureReadsItsPolynomialFromTheHighestPower) {
  const std::vector<double> logits(static_cast<std::size_t>(std::lround(std::exp(2.0))), 0.0);
  std::vector<double> tilted = logits;
  tilted[0] = 1e-3;
  const double entropy = std::log(static_cast<double>(logits.size()));
  const double beta = -0.037 * std::pow(entropy, 4) + 0.481 * std::pow(entropy, 3) -
                      2.3 * entropy * entropy + 4.917 * entropy - 1.791;
  const auto a = weigh("adaptive-temperature", tilted);
  EXPECT_NEAR(std::log(a[0] / a[1]) / 1e-3, beta, 1e-4);
  EXPECT_NEAR(-0.037 * 16 + 0.481 * 8 - 2.3 * 4 + 4.917 * 2 - 1.791, 2.099, 1e-9);
}

// The wrapper with a function of the user's own: F = 2 + tanh.
TEST(Golden, AnyPositiveFunctionIsANormalizer) {
  ScalarFunction f;
  f.value = [](double x) { return 2 + std::tanh(x); };
  f.slope = [](double x) { return 1 - std::tanh(x) * std::tanh(x); };
  f.relative = 0.536;
  NormalizerInfo info;
  info.name = "mine";
  const auto normalizer = make_pointwise(info, f);
  std::vector<double> a(2);
  normalizer->weigh(std::vector<double>{0, 100}, {2, 1}, std::span(a));
  EXPECT_NEAR(a[0], .4, 1e-12);
  Jacobian j;
  normalizer->jacobian(std::vector<double>{0, 100}, {2, 1}, j);
  // dF/S = (1/5, 0): column 0 is (1 - a_0, -a_1)/5.
  std::vector<double> out(2);
  j.apply(std::vector<double>{1, 0}, out);
  EXPECT_NEAR(out[0], .6 / 5, 1e-12);
  EXPECT_NEAR(out[1], -.6 / 5, 1e-12);
  EXPECT_NEAR(normalizer->lemma1_constants(50)->upper, 3, 1e-9);
  f.value = [](double x) { return x; };
  EXPECT_THROW(
      make_pointwise(info, f)->weigh(std::vector<double>{-1}, {1, 0}, std::span(a).first(1)),
      BadInputError);
}

// Where every F underflows, or overflows, the weights and the Jacobian are those of softmax: F(l)
// is then e^l, to the last digit.
TEST(Golden, WeightsOutliveTheFunction) {
  const auto softmax = make_normalizer("softmax");
  for (const double level : {-60.0, -95.0, -700.0, -800.0, -1e4, -1e8, 800.0}) {
    std::vector<double> row;
    for (int i = 0; i < 40; ++i) row.push_back(level + 3 * std::sin(1.7 * i));
    const std::vector<float> narrow(row.begin(), row.end());
    row.assign(narrow.begin(), narrow.end());
    const RowContext at{40, 39};
    std::vector<double> expected(40), weights(40);
    softmax->weigh(row, at, std::span(expected));
    Jacobian exact, found;
    softmax->jacobian(row, at, exact);
    for (const char* f : {"softplus", "sigmoid", "exp"}) {
      if (level > 0 && f[0] != 'e') continue;
      const auto normalizer = make_normalizer(std::string("pointwise:f=") + f);
      normalizer->weigh(row, at, std::span(weights));
      std::vector<float> fast(40);
      const WeightSums sums = normalizer->weigh(narrow, at, std::span(fast));
      normalizer->jacobian(row, at, found);
      for (std::size_t i = 0; i < row.size(); ++i) {
        ASSERT_NEAR(weights[i], expected[i], 1e-13 * expected[i]) << f << " at " << level;
        ASSERT_NEAR(fast[i], expected[i], 1e-6 * expected[i]) << f << " at " << level;
        ASSERT_NEAR(found.diagonal[i], exact.diagonal[i], 1e-13 * expected[i]) << f << level;
      }
      EXPECT_NEAR(sums.mass, 1, 1e-6) << f << " at " << level;
      EXPECT_NEAR(found.spectral(), exact.spectral(), 1e-9 * exact.spectral()) << f << level;
      // From the float32 weights.
      EXPECT_NEAR(normalizer->jacobian_norms(narrow, fast, sums, at).spectral, found.spectral(),
                  2e-6 * found.spectral());
    }
  }
}

// On both sides of where the normalizer turns to logarithms, against its definition in more digits.
TEST(Golden, LogarithmsJoinTheFunctionItself) {
  for (const double level : {-39.0, -41.0, -459.0, -462.0}) {
    const std::vector<double> row = {level, level - 1.5, level - 0.25, level - 30, level + 1};
    std::vector<double> weights(row.size());
    for (const char* f : {"softplus", "sigmoid"}) {
      std::vector<long double> expected;
      long double sum = 0;
      for (const double l : row) {
        const long double e = std::exp(static_cast<long double>(l));
        expected.push_back(f[1] == 'o' ? std::log1p(e) : e / (1 + e));
        sum += expected.back();
      }
      const auto normalizer = make_normalizer(std::string("pointwise:f=") + f);
      normalizer->weigh(row, {5, 4}, std::span(weights));
      Jacobian j;
      normalizer->jacobian(row, {5, 4}, j);
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto a = static_cast<double>(expected[i] / sum);
        EXPECT_NEAR(weights[i], a, 1e-13 * a) << f << " at " << row[i];
        EXPECT_NEAR(j.diagonal[i], a, 1e-13 * a) << f << " at " << row[i];  // F' = F here
      }
    }
  }
}

// N14: lam of q = 1 at two zeros is 2.
TEST(Golden, LipschitzConstants) {
  const RowContext two{2, 1};
  EXPECT_EQ(make_normalizer("entmax:alpha=1.5")->lipschitz(two), 1);
  EXPECT_EQ(make_normalizer("sparsemax")->lipschitz(two), 1);
  EXPECT_TRUE(std::isinf(make_normalizer("entmax:alpha=2.5")->lipschitz(two)));
  EXPECT_EQ(make_normalizer("entmax-logn:s=1")->lipschitz({3, 2}), 1);
  EXPECT_EQ(make_normalizer("entmax-logn:s=1")->traits().lipschitz, 1);
  EXPECT_NEAR(make_normalizer("ssmax")->lipschitz({100, 99}), .43 * std::log(100) / 2, 1e-12);
  EXPECT_EQ(make_normalizer("sigmoid")->lipschitz(two), .25);
  // Attained at two equal logits.
  for (const char* spec : {"softmax:t=0.2", "sparsemax", "stieltjes:q=4"}) {
    const auto normalizer = make_normalizer(spec);
    Jacobian j;
    normalizer->jacobian(std::vector<double>{0.3, 0.3}, two, j);
    EXPECT_NEAR(j.spectral(), normalizer->lipschitz(two), 1e-9) << spec;
  }
}

}  // namespace
}  // namespace headgauge
