#include "kernels/pointwise.hpp"

#include <functional>
#include <limits>

#include "kernels/weight_reference.hpp"

namespace headgauge {
namespace {

class Pointwise : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(Pointwise);

// A normalizer with its definition in float64: weights of a row.
struct Case {
  std::string name;
  PointwiseKernel normalizer;
  std::function<std::vector<double>(const std::vector<double>&)> weights;
};

std::vector<double> softpick(const std::vector<double>& row) {
  const double top = std::max(0.0, *std::max_element(row.begin(), row.end()));
  std::vector<double> out;
  double sum = 1e-8 * std::exp(-top);
  for (const double l : row) {
    const double lifted =
        std::abs(l) < 1 ? std::expm1(l) * std::exp(-top) : std::exp(l - top) - std::exp(-top);
    out.push_back(std::max(lifted, 0.0));
    sum += std::abs(lifted);
  }
  for (double& a : out) a /= sum;
  return out;
}

std::vector<double> self_adjust(const std::vector<double>& row) {
  const double top = *std::max_element(row.begin(), row.end());
  const double low = std::min(0.0, *std::min_element(row.begin(), row.end()));
  std::vector<double> out;
  double sum = 0;
  for (const double l : row) {
    out.push_back(std::exp(l - top) * (l - low) / (std::max(top, 0.0) - low));
    sum += std::exp(l - top);
  }
  for (double& a : out) a /= sum;
  return out;
}

std::vector<Case> cases() {
  const auto sigmoid = [](double shift) {
    return [=](std::vector<double> row) {
      for (double& l : row) l = 1 / (1 + std::exp(-(l + shift)));
      return row;
    };
  };
  return {
      {"sigmoid", {.function = PointwiseFunction::kSigmoid}, sigmoid(0)},
      {"sigmoid, shifted",
       {.function = PointwiseFunction::kSigmoid, .shift = -6.5f},
       sigmoid(-6.5)},
      {"softpick", {.function = PointwiseFunction::kSoftpick}, softpick},
      {"self-adjust", {.function = PointwiseFunction::kSelfAdjust}, self_adjust},
  };
}

// Some rows are left to float64: whether this one may be.
bool may_refuse(const Case& c, const std::vector<float>& row) {
  const auto [low, high] = std::minmax_element(row.begin(), row.end());
  const double size = std::max(std::abs(*low), std::abs(*high));
  // h within [1e-10, 1e10] whatever the normalizer: exp(l - 6.5) is the lowest.
  const bool mild = *high > -10 && size < 40;
  if (mild && size > 0.02 && *high > 0.02) return false;
  return c.name != "softpick" || *high < 1e-9 || *high > 1e4;
}

auto weigher(const Case& c) {
  return [&c](std::span<const float> row, std::span<float> weights, WeightSums& sums) {
    return weigh_pointwise(c.normalizer, row, weights, sums);
  };
}

void expect_row(const Case& c, const std::vector<float>& row) {
  std::vector<float> weights(row.size() + 1, -7.0f);
  const std::span<float> out(weights.data(), row.size());
  WeightSums got;
  const bool done = weigh_pointwise(c.normalizer, row, out, got);
  EXPECT_EQ(weights.back(), -7.0f) << "written past the end";
  if (!done) {
    EXPECT_EQ(weights.front(), -7.0f) << "written, and then refused";
    EXPECT_TRUE(may_refuse(c, row)) << c.name << " " << row[0];
    return;
  }
  const auto exact = c.weights({row.begin(), row.end()});
  const double top = *std::max_element(exact.begin(), exact.end());
  const float max_logit = *std::max_element(row.begin(), row.end());
  const std::string at = c.name + ", n = " + std::to_string(row.size());
  // exp(x) is off by 2^-23 |x| and 4.4e-7, the sum by as much again.
  double worst = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double x = std::min<double>(40, std::max(std::abs(row[i]), max_logit - row[i]));
    const double tolerance = 2e-6 + 2.4e-7 * x;
    ASSERT_NEAR(weights[i], exact[i], tolerance * exact[i] + 2e-36)
        << at << ", weight " << i << " at " << row[i];
    if (exact[i] > 1e-3 * top) worst = std::max(worst, tolerance);
  }
  EXPECT_EQ(got.max_logit, max_logit) << at;
  EXPECT_EQ(got.min_logit, *std::min_element(row.begin(), row.end())) << at;
  expect_sums(got, reference_sums(exact), worst, at);
  expect_same_elsewhere(row, weights, got, weigher(c), at);
}

TEST_P(Pointwise, AgreeWithFloat64) {
  for (const Case& c : cases()) {
    for_each_row([&](const std::vector<float>& row) {
      if (!HasFailure()) expect_row(c, row);
    });
    if (HasFailure()) return;
  }
}

TEST_P(Pointwise, RowsThatAreNotFiniteAreLeftAlone) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    expect_left_alone(weigher(c));
  }
}

TEST_P(Pointwise, ACapIsATanh) {
  for (const float cap : {0.5f, 2.0f, 50.0f}) {
    for_each_row([&](std::vector<float> row) {
      const std::vector<float> before = row;
      cap_row(row, cap, row);
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double exact = cap * std::tanh(static_cast<double>(before[i]) / cap);
        ASSERT_NEAR(row[i], exact, 1e-6 * std::abs(exact) + 1e-42) << before[i];
      }
    });
  }
  std::vector<float> row = {std::numeric_limits<float>::infinity(), 1.0f,
                            std::numeric_limits<float>::quiet_NaN()};
  cap_row(row, 1.0f, row);
  EXPECT_TRUE(std::isnan(row[0]));
  EXPECT_TRUE(std::isnan(row[2]));
}

}  // namespace
}  // namespace headgauge
