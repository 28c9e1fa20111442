#include "normalize/functions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

namespace headgauge {
namespace {

double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

double log_sigmoid(double x) {
  return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
}

double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

// Below this, softplus(x) equals e^x to the last digit.
constexpr double kExponential = -40;

double log_softplus(double x) {
  return x < kExponential ? x : std::log(softplus(x));
}

double log_softplus_slope(double x) {
  return x < kExponential ? 1.0 : sigmoid(x) / softplus(x);
}

// The distribution function of the standard normal distribution.
double distribution(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double density(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}

}  // namespace

std::pair<double, double> ScalarFunction::range(double range) const {
  const double low = value(-range), high = value(range);
  const double lowest = -range < lowest_at && lowest_at < range ? value(lowest_at) : low;
  return {std::min({low, high, lowest}), std::max(low, high)};
}

ScalarFunction scalar_function(std::string_view name) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (name == "exp") {
    ScalarFunction f = {[](double x) { return std::exp(x); }, [](double x) { return std::exp(x); },
                        kNone, 1};
    f.log = [](double x) { return x; };
    f.log_slope = [](double) { return 1.0; };
    return f;
  }
  if (name == "softplus") {  // its log-derivative falls from 1
    ScalarFunction f = {softplus, sigmoid, 1, 1};
    f.log = log_softplus;
    f.log_slope = log_softplus_slope;
    return f;
  }
  if (name == "sigmoid") {  // sigma' / sigma = 1 - sigma
    ScalarFunction f = {sigmoid, [](double x) { return sigmoid(x) * sigmoid(-x); }, 0.25, 1};
    f.log = log_sigmoid;
    f.log_slope = [](double x) { return sigmoid(-x); };
    return f;
  }
  if (name == "1+l^2") {  // |2 l| / (1 + l^2) <= 1
    ScalarFunction f = {
        [](double x) { return 1 + x * x; }, [](double x) { return 2 * x; }, kNone, 1, false, 0};
    f.log_slope = [](double x) { return 2 * x / (1 + x * x); };
    return f;
  }
  if (name == "taylor2") {  // |1 + l| / (1 + l + l^2/2) <= 1
    ScalarFunction f = {[](double x) { return 1 + x + x * x / 2; },
                        [](double x) { return 1 + x; },
                        kNone,
                        1,
                        false,
                        -1};
    f.log_slope = [](double x) { return (1 + x) / (1 + x + x * x / 2); };
    return f;
  }
  if (name == "relu") return relu_power(1);
  if (name == "relu6") {
    return {[](double x) { return std::fmin(std::fmax(x, 0), 6); },
            [](double x) { return x > 0 && x <= 6 ? 1.0 : 0.0; }, 1, kNone};
  }
  if (name == "identity") {
    return {[](double x) { return x; }, [](double) { return 1.0; }, 1, kNone};
  }
  if (name == "gelu") {  // the slope is largest at sqrt 2
    return {[](double x) { return x * distribution(x); },
            [](double x) { return distribution(x) + x * density(x); },
            distribution(std::numbers::sqrt2) + std::numbers::sqrt2 * density(std::numbers::sqrt2),
            kNone};
  }
  throw std::invalid_argument("no scalar function " + std::string(name));
}

ScalarFunction relu_power(double power) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  return {[power](double x) { return x > 0 ? std::pow(x, power) : 0.0; },
          [power](double x) { return x > 0 ? power * std::pow(x, power - 1) : 0.0; },
          power == 1 ? 1.0 : kNone, kNone};
}

ScalarFunction integer_power(int power) {
  return {[power](double x) { return std::pow(x, power); },
          [power](double x) { return power * std::pow(x, power - 1); }};
}

ScalarFunction shifted_power(int m) {
  ScalarFunction f = {[m](double x) { return std::pow(1 + x / m, m); },
                      [m](double x) { return std::pow(1 + x / m, m - 1); },
                      std::numeric_limits<double>::infinity(),
                      std::numeric_limits<double>::infinity(),
                      false,
                      static_cast<double>(-m)};
  f.log_slope = [m](double x) { return 1 / (1 + x / m); };
  return f;
}

}  // namespace headgauge
