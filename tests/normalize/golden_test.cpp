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
  expect("topk:k=2", {1, 3, 2}, {0, std::exp(1) / (1 + std::exp(1)), 1 / (1 + std::exp(1))});
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
  for (const char* spec : {"softmax:t=0.2", "sparsemax"}) {
    const auto normalizer = make_normalizer(spec);
    Jacobian j;
    normalizer->jacobian(std::vector<double>{0.3, 0.3}, two, j);
    EXPECT_NEAR(j.spectral(), normalizer->lipschitz(two), 1e-9) << spec;
  }
}

}  // namespace
}  // namespace headgauge
