#include "convergence/rate.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "convergence/decompositions.hpp"
#include "convergence/token_law.hpp"

namespace headgauge {
namespace {

// The limit of the public code: a point without variance gets a large but finite weight.
constexpr double kLeastVariance = 1e-18;

struct Point {
  double x = 0, y = 0;  // log n, log error
  double variance = 0;  // variance of y
  double weight = 1;
};

Eigen::MatrixXd covariance(MatrixView<const float> rows) {
  Eigen::MatrixXd x(rows.rows(), rows.cols());
  for (Index r = 0; r < rows.rows(); ++r) {
    for (Index c = 0; c < rows.cols(); ++c) x(r, c) = rows(r, c);
  }
  x.rowwise() -= x.colwise().mean().eval();
  return x.transpose() * x / static_cast<double>(rows.rows());
}

}  // namespace

RateFit fit_rate(std::span<const double> tokens, std::span<const double> errors,
                 std::span<const double> deviations, int replicates, double floor) {
  assert(tokens.size() == errors.size());
  assert(deviations.empty() || deviations.size() == errors.size());
  RateFit fit;
  std::vector<Point> points;
  double most = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const double deviation = deviations.empty() ? 0 : deviations[i];
    if (!(std::isfinite(errors[i]) && errors[i] > 0 && tokens[i] > 0 && deviation >= 0 &&
          std::isfinite(deviation))) {
      ++fit.unusable;
    } else if (errors[i] <= floor) {
      ++fit.under_floor;
    } else {
      const double relative = deviation / errors[i];
      points.push_back({std::log(tokens[i]), std::log(errors[i]),
                        relative * relative / std::max(replicates, 1)});
      most = std::max(most, points.back().variance);
    }
  }
  fit.points = static_cast<int>(points.size());
  if (fit.points < kFewestRatePoints) return fit;

  double weight = 0, x = 0, y = 0;
  for (Point& p : points) {
    if (most > 0) p.weight = 1 / std::max(p.variance, kLeastVariance);
    weight += p.weight;
    x += p.weight * p.x;
    y += p.weight * p.y;
  }
  x /= weight;
  y /= weight;
  double xx = 0, xy = 0;
  for (const Point& p : points) {
    xx += p.weight * (p.x - x) * (p.x - x);
    xy += p.weight * (p.x - x) * (p.y - y);
  }
  // Rounding may make the weighted mean differ from equal logarithms, so the spread is checked
  // first.
  const auto [first, last] =
      std::ranges::minmax_element(points, {}, [](const Point& p) { return p.x; });
  if (first->x == last->x) return fit;
  const double slope = xy / xx;
  double scatter = 0;
  for (const Point& p : points) {
    const double residual = p.y - y - slope * (p.x - x);
    scatter += p.weight * residual * residual;
  }
  fit.rate = -slope;
  fit.standard_error = std::sqrt(scatter / (fit.points - 2) / xx);
  return fit;
}

double query_key_spread(MatrixView<const float> queries, MatrixView<const float> keys) {
  // Cov(q) Cov(k) has the eigenvalues of the symmetric matrix Cov(q)^1/2 Cov(k) Cov(q)^1/2, which
  // is defined for any rank.
  const Eigen::MatrixXd half = square_root(covariance(queries));
  const auto both = eigenvalues(half * covariance(keys) * half, Eigen::EigenvaluesOnly);
  return std::sqrt(std::max(0.0, both.eigenvalues().maxCoeff()));
}

double predicted_rate(double horizon) {
  return 1 / (2 * (1 + horizon * horizon));
}

}  // namespace headgauge
