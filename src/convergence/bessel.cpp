#include "convergence/bessel.hpp"

#include <algorithm>
#include <cmath>

namespace headgauge {
namespace {

constexpr int kNodes = 4096;

// Returns exp(-r) sqrt(2 pi r) I_order(r), by the asymptotic series for r well above order^2.
double scaled_bessel(double order, double r) {
  const double mu = 4 * order * order;
  double term = 1, sum = 1;
  for (int k = 1; k < 200; ++k) {
    const double odd = 2 * k - 1;
    const double next = -term * (mu - odd * odd) / (8 * k * r);
    if (std::abs(next) >= std::abs(term)) break;
    term = next;
    sum += term;
    if (std::abs(term) < 1e-18) break;
  }
  return sum;
}

}  // namespace

double bessel_ratio(Index d, double r) {
  if (r <= 0) return 0;
  const double order = static_cast<double>(d) / 2;
  if (r > std::max(100.0, 8 * order * order)) {
    return scaled_bessel(order, r) / scaled_bessel(order - 1, r);
  }
  // The continued fraction 1 / (2 order/r + 1 / (2 (order+1)/r + ...)), evaluated backwards. Every
  // step multiplies an error by the square of the current ratio, so about 7 sqrt(r) steps suffice.
  const int steps = static_cast<int>(7 * std::sqrt(r)) + 40;
  double ratio = 0;
  for (int k = steps; k >= 0; --k) ratio = 1 / (2 * (order + k) / r + ratio);
  return ratio;
}

BesselRatioTable::BesselRatioTable(Index d) : d_(static_cast<double>(d)) {
  values_.reserve(kNodes + 1);
  values_.push_back(1);
  for (int i = 1; i < kNodes; ++i) {
    const double t = static_cast<double>(i) / kNodes;
    values_.push_back(bessel_ratio(d, d_ * t / (1 - t)) / t);
  }
  values_.push_back(1);
}

double BesselRatioTable::over_r(double r) const {
  const double t = r / (r + d_) * kNodes;
  // Cubic interpolation from four nodes around t; at the ends three of them are on one side.
  const int first = std::clamp(static_cast<int>(t) - 1, 0, kNodes - 3);
  const double x = t - first;
  const double* v = values_.data() + first;
  const double value = -v[0] * (x - 1) * (x - 2) * (x - 3) / 6 + v[1] * x * (x - 2) * (x - 3) / 2 -
                       v[2] * x * (x - 1) * (x - 3) / 2 + v[3] * x * (x - 1) * (x - 2) / 6;
  return value / (r + d_);
}

double log_sphere_transform(const BesselRatioTable& table, double r) {
  // Simpson's rule over u = log(1 + r), which distributes the nodes over all magnitudes of r: A_d
  // bends near r = d and is straight elsewhere.
  const int steps = 2000;
  const double top = std::log1p(r);
  double sum = 0;
  for (int i = 0; i <= steps; ++i) {
    const double u = top * i / steps;
    const double weight = i == 0 || i == steps ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += weight * table.ratio(std::expm1(u)) * std::exp(u);
  }
  return sum * top / steps / 3;
}

}  // namespace headgauge
