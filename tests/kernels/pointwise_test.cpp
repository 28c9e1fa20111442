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
  double relative = 0;  // beyond what exp brings
  double absolute = 0;  // of the largest weight: where h is a power of a difference
};

std::vector<double> each(const std::vector<double>& row, const std::function<double(double)>& h,
                         double factor, bool normalised) {
  std::vector<double> out;
  double sum = 0;
  for (const double l : row) out.push_back(factor * h(l));
  for (const double a : out) sum += a;
  if (normalised && sum > 0) {
    for (double& a : out) a /= sum;
  }
  return out;
}

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

double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

std::vector<Case> cases() {
  const auto of = [](const std::function<double(double)>& h, double factor = 1,
                     bool normalised = false) {
    return [=](const std::vector<double>& row) { return each(row, h, factor, normalised); };
  };
  const auto relu = [](double x) { return std::max(x, 0.0); };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  return {
      {"sigmoid", {.function = PointwiseFunction::kSigmoid}, of(sigmoid)},
      {"sigmoid, shifted, scaled",
       {.function = PointwiseFunction::kSigmoid, .shift = -6.5f, .factor = 0.25},
       of([=](double l) { return sigmoid(l - 6.5); }, 0.25)},
      {"sigmoid, normalised",
       {.function = PointwiseFunction::kSigmoid, .normalised = true},
       of(sigmoid, 1, true)},
      {"softplus",
       {.function = PointwiseFunction::kSoftplus, .normalised = true},
       of(softplus, 1, true)},
      {"relu", {.function = PointwiseFunction::kRelu}, of(relu)},
      {"relu, scaled", {.function = PointwiseFunction::kRelu, .factor = 0.001}, of(relu, 0.001)},
      {"relu^2", {.function = PointwiseFunction::kRelu, .power = 2}, of([=](double l) {
         return relu(l) * relu(l);
       })},
      {"relu^5",
       {.function = PointwiseFunction::kRelu, .power = 5, .factor = 0.5},
       of([=](double l) { return std::pow(relu(l), 5); }, 0.5)},
      {"relu6", {.function = PointwiseFunction::kRelu6}, of([](double l) {
         return std::min(std::max(l, 0.0), 6.0);
       })},
      {"x^4",
       {.function = PointwiseFunction::kEvenPower, .power = 4, .factor = 0.1},
       of([](double l) { return std::pow(l, 4); }, 0.1)},
      {"(1 + l/6)^6",
       {.function = PointwiseFunction::kShiftedPower, .power = 6, .normalised = true},
       of([](double l) { return std::pow(1 + l / 6, 6); }, 1, true),
       2e-6,
       2e-6},
      {"1 + l^2",
       {.function = PointwiseFunction::kOnePlusSquare, .normalised = true},
       of([](double l) { return 1 + l * l; }, 1, true)},
      {"taylor2",
       {.function = PointwiseFunction::kTaylor2, .normalised = true},
       of([](double l) { return 1 + l + l * l / 2; }, 1, true)},
      {"softpick", {.function = PointwiseFunction::kSoftpick, .normalised = true}, softpick},
      {"self-adjust",
       {.function = PointwiseFunction::kSelfAdjust, .normalised = true},
       self_adjust},
  };
}

// Some rows are left to float64: whether this one may be.
bool may_refuse(const Case& c, const std::vector<float>& row) {
  const auto [low, high] = std::minmax_element(row.begin(), row.end());
  const double size = std::max(std::abs(*low), std::abs(*high));
  // h within [1e-10, 1e10] whatever the normalizer: |l|^6 is the steepest, exp(l - 6.5) the lowest.
  const bool mild = *high > -10 && size < 40;
  if (mild && size > 0.02 && *high > 0.02) return false;
  return c.name != "softpick" || *high < 1e-9 || *high > 1e4;
}

void expect_row(const Case& c, const std::vector<float>& row) {
  std::vector<float> weights(row.size() + 1, -7.0f);
  const std::span<float> out(weights.data(), row.size());
  WeightSums got;
  const bool done = weigh_pointwise(c.normalizer, row, out, got);
  EXPECT_EQ(weights.back(), -7.0f) << "written past the end";
  if (!done) {
    EXPECT_EQ(weights.front(), -7.0f) << "written, and then refused";
    const std::string level = simd_level();
    EXPECT_TRUE(level == "baseline" || may_refuse(c, row)) << c.name << " " << row[0];
    return;
  }
  const auto exact = c.weights({row.begin(), row.end()});
  const double top = *std::max_element(exact.begin(), exact.end());
  const float max_logit = *std::max_element(row.begin(), row.end());
  const std::string at = c.name + ", n = " + std::to_string(row.size());
  // exp(x) is off by 2^-23 |x| and 4.4e-7, powers by a rounding a factor, the sum by as much again.
  double worst = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const double x = std::min<double>(40, std::max(std::abs(row[i]), max_logit - row[i]));
    const double tolerance = 2e-6 + c.relative + 2.4e-7 * x;
    ASSERT_NEAR(weights[i], exact[i], tolerance * exact[i] + c.absolute * top + 2e-36)
        << at << ", weight " << i << " at " << row[i];
    if (exact[i] > 1e-3 * top) worst = std::max(worst, tolerance);
  }
  EXPECT_EQ(got.max_logit, max_logit) << at;
  EXPECT_EQ(got.min_logit, *std::min_element(row.begin(), row.end())) << at;
  expect_sums(got, reference_sums(exact), worst + c.absolute, at);

  WeightSums again;
  ASSERT_TRUE(weigh_pointwise(c.normalizer, row, {}, again));
  EXPECT_EQ(again.square, got.square) << at;
  std::vector<float> in_place = row;
  ASSERT_TRUE(weigh_pointwise(c.normalizer, in_place, in_place, again));
  EXPECT_TRUE(std::equal(in_place.begin(), in_place.end(), weights.begin())) << at;
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
    for (const Index n : {1, 16, 17, 64, 100}) {
      for (const float bad :
           {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
            -std::numeric_limits<float>::infinity()}) {
        auto row = normals(n, 3);
        row[static_cast<std::size_t>(n / 2)] = bad;
        std::vector<float> weights(row.size(), -7.0f);
        WeightSums sums;
        EXPECT_FALSE(weigh_pointwise(c.normalizer, row, weights, sums)) << c.name << " " << n;
        EXPECT_EQ(weights, std::vector<float>(row.size(), -7.0f));
      }
    }
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
