#include "convergence/hardmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "convergence/spread.hpp"
#include "convergence/token_law.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {
namespace {

constexpr Index kDirections = 32;
constexpr Index kTokens = 960;  // tokens processed at a time

double bound(Index tokens) {
  return std::sqrt(2 * std::log(static_cast<double>(tokens)));
}

// A density on a grid for the trapezoidal rule, given by its logarithm up to a constant.
struct Law {
  std::vector<double> x, weight;
};
template <class LogDensity>
Law law_on(double low, double high, const LogDensity& log_density) {
  constexpr int kSteps = 1000;
  Law law;
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    law.x.push_back(low + (high - low) * i / kSteps);
    law.weight.push_back(log_density(law.x.back()));
    top = std::max(top, law.weight.back());
  }
  for (double& weight : law.weight) sum += weight = std::exp(weight - top);
  for (double& weight : law.weight) weight /= sum;
  return law;
}

// Returns the mean error of one replicate over its directions.
double one_replicate(const RandomStream& stream, Index dimension, Index tokens) {
  TokenLaw normal;
  normal.dimension = dimension;
  TokenLaw unit = normal;
  unit.sphere = true;
  Matrix<float> directions(kDirections, dimension);
  draw_tokens(unit, stream, tokens, directions);
  const PackedMatrix packed = PackedMatrix::pack_transposed(directions);
  Matrix<float> some(std::min(kTokens, tokens), dimension), scores(some.rows(), kDirections);
  Matrix<float> winners(kDirections, dimension);
  std::vector<float> best(kDirections, -std::numeric_limits<float>::infinity());
  for (Index first = 0; first < tokens; first += kTokens) {
    const Index count = std::min(kTokens, tokens - first);
    const auto drawn = some.view().block(0, count, 0, dimension);
    draw_tokens(normal, stream, first, drawn);
    gemm(drawn, packed, scores);
    for (Index i = 0; i < count; ++i) {
      for (Index k = 0; k < kDirections; ++k) {
        float& largest = best[k];
        if (scores(i, k) <= largest) continue;
        largest = scores(i, k);
        std::ranges::copy(drawn.row(i), winners.row(k).begin());
      }
    }
  }
  double sum = 0;
  for (Index k = 0; k < kDirections; ++k) {
    double square = 0;
    for (Index j = 0; j < dimension; ++j) {
      square += std::pow(winners(k, j) / bound(tokens) - directions(k, j), 2);
    }
    sum += std::sqrt(square);
  }
  return sum / kDirections;
}

}  // namespace

bool hardmax_errors(Index dimension, const std::vector<int>& grid, int replicates,
                    std::uint64_t seed, ThreadPool& pool, const std::stop_token& stop,
                    HardmaxErrors& errors) {
  errors = {};
  for (std::size_t point = 0; point < grid.size(); ++point) {
    std::vector<double> found(static_cast<std::size_t>(replicates), kUndefined);
    pool.for_each(replicates, [&](Index replicate) {
      if (stop.stop_requested()) return;
      const RandomStream stream(seed, RandomDomain::synthetic_hardmax,
                                static_cast<std::uint32_t>(point),
                                static_cast<std::uint32_t>(replicate));
      found[replicate] = one_replicate(stream, dimension, grid[point]);
    });
    if (stop.stop_requested()) return false;
    const Spread spread = spread_of(found);
    errors.error.push_back(spread.mean);
    errors.standard_error.push_back(spread.standard_error);
  }
  return true;
}

double hardmax_law(Index dimension, Index tokens) {
  const double a = bound(tokens);
  const auto n = static_cast<double>(tokens);
  // Density of the largest of n: n phi(m) Phi(m)^(n-1).
  const Law largest = law_on(-9, a + 9, [&](double m) {
    const double beyond = std::erfc(m / std::numbers::sqrt2) / 2;
    return -m * m / 2 + (n - 1) * std::log1p(-beyond);
  });
  Law across{{0}, {1}};
  if (dimension > 1) {  // norm of d - 1 normals: density x^(d-2) exp(-x^2/2)
    const auto k = static_cast<double>(dimension - 1);
    const double middle = std::sqrt(k);
    across = law_on(std::max(0.0, middle - 9), middle + 9,
                    [&](double x) { return -x * x / 2 + (k > 1 ? (k - 1) * std::log(x) : 0); });
    // The trapezoidal rule halves the weight of an end where the density is not 0.
    if (dimension == 2) {
      across.weight[0] /= 2;
      double sum = 0;
      for (double weight : across.weight) sum += weight;
      for (double& weight : across.weight) weight /= sum;
    }
  }
  double mean = 0;
  for (std::size_t i = 0; i < largest.x.size(); ++i) {
    for (std::size_t j = 0; j < across.x.size(); ++j) {
      mean += largest.weight[i] * across.weight[j] * std::hypot(across.x[j], largest.x[i] - a);
    }
  }
  return mean / a;
}

}  // namespace headgauge
