#include "kernels/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/weight_reference.hpp"

namespace headgauge {
namespace {

class Softmax : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(Softmax);

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The definitions of docs/mathematics.md in float64, largest logit taken out exactly, as the
// quantities that the near-one-hot case needs: the sum runs without the maximum.
struct Reference {
  explicit Reference(const std::vector<float>& logits) : weights(logits.size()) {
    const auto at = std::max_element(logits.begin(), logits.end());
    const double top = *at;
    double rest = 0.0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      if (static_cast<std::ptrdiff_t>(i) != at - logits.begin()) rest += std::exp(logits[i] - top);
    }
    const double z = 1.0 + rest;
    log_sum_exp = top + std::log1p(rest);
    entropy = std::log1p(rest);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double p = std::exp(logits[i] - top) / z;
      weights[i] = p;
      if (p > 0.0) entropy += p * (top - logits[i]);
      square += p * p;
      cube += p * p * p;
      min = std::min(min, p);
      max = std::max(max, p);
      // What float32 cannot tell from the largest counts as equal to it.
      if (static_cast<float>(std::exp(logits[i] - top)) == 1.0f) {
        ++max_count;
        continue;
      }
      rest_mass += p;
      rest_square += p * p;
      rest_cube += p * p * p;
    }
  }
  std::vector<double> weights;
  double rest_mass = 0, rest_square = 0, rest_cube = 0;
  Index max_count = 0;
  double entropy = 0, square = 0, cube = 0, min = 2, max = 0, log_sum_exp = 0;
};

// Tolerances. The logit differences x = l - max are rounded to float32, which moves exp(x) by
// |x| 2^-24; the product x log2(e) inside exp by about as much again, since float32 holds log2(e)
// to 1.3e-8; the polynomial is good to 4.4e-7 and its evaluation to about two roundings.
double exp_tolerance(double x) {
  return 4.4e-7 + (3.0 + 2.0 * std::abs(x)) * kSingleRounding;
}

// A weight is divided by the sum of all exp(x), which is off by their errors (where all x are the
// same, all errors are the same) and by those of the float32 lanes; and it has a rounding more.
double weight_tolerance(double x) {
  return exp_tolerance(x) + 4.4e-7 + 5 * kSingleRounding;
}

// A weighted mean of such errors, for sums: terms with large |x| have small weight, |x| e^x <= 0.4.
constexpr double kSum = 2e-6;

void expect_row(const std::vector<float>& logits) {
  const Reference expected(logits);
  std::vector<float> weights(logits.size() + 1, -7.0f);
  const std::span<float> out(weights.data(), logits.size());
  const WeightSums got = softmax_row(logits, out);
  ASSERT_EQ(weights.back(), -7.0f) << "written past the end";
  const double top = got.max_logit;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double x = logits[i] - top;
    // Weights below e^-87 of the largest are 0.
    ASSERT_NEAR(weights[i], expected.weights[i], weight_tolerance(x) * expected.weights[i] + 2e-38)
        << "weight " << i << " of " << logits.size();
  }
  const std::string at = "n = " + std::to_string(logits.size());
  EXPECT_EQ(got.mass, 1.0) << at;
  EXPECT_EQ(got.abs_mass, 1.0) << at;
  EXPECT_EQ(got.max_logit, *std::max_element(logits.begin(), logits.end())) << at;
  EXPECT_EQ(got.min_logit, *std::min_element(logits.begin(), logits.end())) << at;
  EXPECT_NEAR(got.square, expected.square, kSum * expected.square) << at;
  EXPECT_NEAR(got.cube, expected.cube, kSum * expected.cube) << at;
  EXPECT_NEAR(got.max, expected.max, kSum * expected.max) << at;
  EXPECT_NEAR(got.min, expected.min, weight_tolerance(got.min_logit - top) * expected.min + 2e-38)
      << at;
  EXPECT_NEAR(got.log_sum_exp, expected.log_sum_exp,
              kSum + 2 * kSingleRounding * std::abs(expected.log_sum_exp))
      << at;
  // Near a one-hot row the entropy keeps five digits.
  EXPECT_NEAR(got.entropy, expected.entropy,
              (expected.entropy > 0.1 ? kSum : 2e-5) * expected.entropy + 1e-36)
      << at << " with " << expected.entropy;

  // Without the largest every digit counts: these sums may be as small as they like.
  float second = got.min_logit;
  for (float l : logits) {
    if (l < got.max_logit) second = std::max(second, l);
  }
  const double rest = kSum + weight_tolerance(second - top);
  EXPECT_EQ(got.max_count, expected.max_count) << at;
  EXPECT_NEAR(got.rest_mass, expected.rest_mass, rest * expected.rest_mass + 1e-36) << at;
  EXPECT_NEAR(got.rest_square, expected.rest_square, 2 * rest * expected.rest_square + 1e-40) << at;
  EXPECT_NEAR(got.rest_cube, expected.rest_cube, 3 * rest * expected.rest_cube + 1e-40) << at;

  const WeightSums again = softmax_row(logits, {});
  EXPECT_EQ(again.entropy, got.entropy) << at;
  EXPECT_EQ(again.square, got.square) << at;
  std::vector<float> in_place = logits;
  softmax_row(in_place, in_place);
  EXPECT_TRUE(std::equal(in_place.begin(), in_place.end(), weights.begin())) << at;
}

TEST_P(Softmax, AgreesWithFloat64OnRandomRows) {
  for (const Index n : row_lengths()) {
    for (const double spread : {0.01, 1.0, 3.0, 10.0}) {
      expect_row(normals(n, static_cast<std::uint64_t>(n), spread));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Softmax, AllEqualLogitsGiveExactlyUniformWeights) {
  for (const Index n : row_lengths()) {
    for (const float value : {0.0f, -3.7f, 1e4f}) {
      const std::vector<float> logits(n, value);
      expect_row(logits);
      std::vector<float> weights(logits.size());
      const WeightSums sums = softmax_row(logits, weights);
      EXPECT_EQ(sums.max, 1.0 / static_cast<double>(n));
      EXPECT_EQ(sums.min, 1.0 / static_cast<double>(n));
      EXPECT_NEAR(sums.entropy, std::log(static_cast<double>(n)), 1e-14);
      EXPECT_EQ(weights.front(), static_cast<float>(1.0 / static_cast<double>(n)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Softmax, ManyEqualTermsDoNotAddUpTheirRounding) {
  // Every addition of a lane rounds the same way.
  for (const Index n : {300, 4097, 16384, 100000}) {
    for (const float gap : {0.1f, 0.3f, 1.7f}) {
      std::vector<float> logits(n, -gap);
      logits[7] = 0.0f;
      expect_row(logits);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Softmax, NearOneHotRowsKeepTheDigitsOfTheEntropy) {
  for (const Index n : {2, 3, 16, 17, 100, 300, 1024, 4097}) {
    for (const float gap : {0.1f, 1.0f, 3.0f, 6.0f, 9.0f, 12.0f, 15.0f, 20.0f, 40.0f, 80.0f}) {
      for (const Index at : {Index{0}, n / 2, n - 1}) {
        auto logits = normals(n, static_cast<std::uint64_t>(n), 0.5);
        const float top = *std::max_element(logits.begin(), logits.end());
        logits[at] = top + gap;
        expect_row(logits);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(Softmax, AOneHotRowHasEntropyZero) {
  for (const Index n : {1, 2, 17, 300}) {
    std::vector<float> logits(n, -1000.0f);
    logits[n / 2] = 5.0f;
    expect_row(logits);
    const WeightSums sums = softmax_row(logits, {});
    EXPECT_EQ(sums.entropy, 0.0);
    EXPECT_EQ(sums.square, 1.0);
    EXPECT_EQ(sums.max, 1.0);
  }
}

TEST_P(Softmax, HugeAndTinySpreads) {
  for (const Index n : {1, 5, 16, 31, 64, 300, 1024}) {
    for (const double spread : {30.0, 100.0, 1e4, 1e30}) {
      expect_row(normals(n, static_cast<std::uint64_t>(n), spread));
    }
    // Logits that are subnormal themselves, and weights near the smallest normal number.
    expect_row(normals(n, 1, 1e-40));
    std::vector<float> ramp(n);
    for (Index i = 0; i < n; ++i) ramp[i] = -100.0f * float(i) / float(n);
    expect_row(ramp);
    if (HasFatalFailure()) return;
  }
}

TEST_P(Softmax, ANonFiniteLogitShowsInTheLogSumExp) {
  for (const Index n : {1, 2, 16, 17, 64, 100, 1000}) {
    for (Index at = 0; at < n; at += std::max<Index>(1, n / 7)) {
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
        auto logits = normals(n, 3);
        EXPECT_EQ(first_non_finite(logits), -1);
        logits[at] = bad;
        EXPECT_TRUE(std::isnan(softmax_row(logits, {}).log_sum_exp))
            << n << " " << at << " " << bad;
        EXPECT_EQ(first_non_finite(logits), at);
      }
    }
  }
  EXPECT_EQ(first_non_finite({}), -1);
  EXPECT_EQ(first_non_finite(std::vector<float>(20, std::numeric_limits<float>::max())), -1);
}

TEST_P(Softmax, ExpShiftedAgreesWithFloat64) {
  std::vector<float> in;
  for (int i = -900; i <= 880; ++i) in.push_back(static_cast<float>(i) * 0.1f);
  for (const std::size_t n : {std::size_t{1}, std::size_t{15}, std::size_t{16}, in.size()}) {
    for (const float shift : {0.0f, 1.5f}) {
      const std::span<const float> part(in.data() + in.size() - n, n);
      std::vector<float> out(n + 1, -7.0f);
      exp_shifted(part, shift, std::span(out).first(n));
      EXPECT_EQ(out.back(), -7.0f);
      for (std::size_t i = 0; i < n; ++i) {
        const double x = double(part[i]) - shift;
        const double expected = x < -87.0 ? 0.0 : std::exp(x);
        // Just around -87 the rounded difference decides.
        if (std::abs(x + 87.0) < 1e-4) continue;
        EXPECT_NEAR(out[i], expected, exp_tolerance(x) * expected) << x;
      }
    }
  }
}

TEST_P(Softmax, ExtremesOfEveryLength) {
  for (const Index n : row_lengths()) {
    auto values = normals(n, static_cast<std::uint64_t>(n));
    const auto got = extremes(values);
    EXPECT_EQ(got.min, *std::min_element(values.begin(), values.end()));
    EXPECT_EQ(got.max, *std::max_element(values.begin(), values.end()));
    values.back() = 100.0f;
    EXPECT_EQ(extremes(values).max, 100.0f);
    values.back() = -100.0f;
    EXPECT_EQ(extremes(values).min, -100.0f);
  }
}

}  // namespace
}  // namespace headgauge
