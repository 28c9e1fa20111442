#include "convergence/extremes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "convergence/decompositions.hpp"
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

constexpr Index kStretched = 8;  // singular directions, each in both signs
constexpr Index kRandom = 32;    // random directions
constexpr std::uint32_t kNetStream = 0x80000000;

// Returns unit vectors of the whitened space as columns.
Eigen::MatrixXd directions(const Simulated& experiment, const Eigen::MatrixXd& root) {
  const Index d = experiment.law.dimension, stretched = std::min(kStretched, d);
  const auto svd = singular_values(root * experiment.map * root, Eigen::ComputeFullV);
  Eigen::MatrixXd all(d, 2 * stretched + kRandom);
  all.leftCols(stretched) = svd.matrixV().leftCols(stretched);
  all.middleCols(stretched, stretched) = -svd.matrixV().leftCols(stretched);
  TokenLaw unit;
  unit.dimension = d;
  unit.sphere = true;
  Matrix<float> drawn(kRandom, d);
  draw_tokens(unit, {experiment.seed, RandomDomain::synthetic_uniform, kNetStream, 0}, 0, drawn);
  for (Index k = 0; k < kRandom; ++k) {
    for (Index j = 0; j < d; ++j) all(j, 2 * stretched + k) = drawn(k, j);
  }
  return all;
}

// Queries on balls, ordered by ball, and their limits of attention.
struct Balls {
  Index each = 0;         // queries per ball
  Matrix<float> queries;  // z = A x
  Matrix<double> limits;
  std::vector<double> constant;  // per ball: the largest square root of the variance in it or in
                                 // smaller balls
};

Balls make_balls(const Simulated& experiment, double factor, const std::vector<double>& radii) {
  const Index d = experiment.law.dimension;
  const Eigen::MatrixXd root = square_root(experiment.law.covariance());
  const Eigen::MatrixXd rays = factor * experiment.map * root * directions(experiment, root);
  const Index each = rays.cols(), count = each * std::ssize(radii);
  Balls balls{each, Matrix<float>(count, d), Matrix<double>(count, d), {}};
  const LimitMap map(experiment.law, experiment.normalizer);
  std::vector<double> z(static_cast<std::size_t>(d));
  double largest = 0;
  for (Index row = 0; row < count; ++row) {
    const double radius = radii[row / each];
    for (Index j = 0; j < d; ++j) {
      balls.queries(row, j) = static_cast<float>(radius * rays(j, row % each));
      z[j] = balls.queries(row, j);
    }
    map.apply(z, balls.limits.row(row));
    largest = std::max(largest, std::sqrt(map.variance(z)));
    if ((row + 1) % each == 0) balls.constant.push_back(largest);
  }
  return balls;
}

struct Workspace {
  TokenAttention attention;
  TokenAttention::Scratch scratch;
  Matrix<float> outputs;
};

// Draws tokens, attends to them, and returns the largest error in each ball, including smaller
// balls; an empty list if stopped.
std::vector<double> errors_of_draw(const Simulated& experiment, const Balls& balls,
                                   Index tokens_drawn, Index point, Index replicate,
                                   Workspace& work, const std::stop_token& stop) {
  Matrix<float> tokens(tokens_drawn, experiment.law.dimension);
  draw_tokens(experiment.law,
              {experiment.seed, RandomDomain::synthetic_uniform, static_cast<std::uint32_t>(point),
               static_cast<std::uint32_t>(replicate)},
              0, tokens);
  work.attention.set_tokens(tokens);
  if (!work.attention.attend(balls.queries, work.outputs, work.scratch, stop)) return {};
  std::vector<double> errors;
  double largest = 0;
  for (Index row = 0; row < work.outputs.rows(); ++row) {
    double square = 0;
    for (Index j = 0; j < work.outputs.cols(); ++j) {
      square += std::pow(work.outputs(row, j) - balls.limits(row, j), 2);
    }
    largest = std::max(largest, square);
    if ((row + 1) % balls.each == 0) errors.push_back(std::sqrt(largest));
  }
  return errors;
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

bool uniform_errors(const Simulated& experiment, double factor, const std::vector<int>& grid,
                    const std::vector<double>& radii, int replicates, ThreadPool& pool,
                    const std::stop_token& stop, UniformErrors& errors) {
  const Balls balls = make_balls(experiment, factor, radii);
  errors = {};
  errors.constant = balls.constant;
  std::vector<Workspace> workspaces;
  for (int slot = 0; slot < pool.threads(); ++slot) {
    workspaces.push_back({TokenAttention(experiment.normalizer),
                          {},
                          Matrix<float>(balls.queries.rows(), balls.queries.cols())});
  }
  for (Index point = 0; point < std::ssize(grid); ++point) {
    Matrix<double> found(std::ssize(radii), replicates);
    pool.for_each_slot(replicates, [&](Index replicate, int slot) {
      const auto drawn =
          errors_of_draw(experiment, balls, grid[point], point, replicate, workspaces[slot], stop);
      for (Index ball = 0; ball < std::ssize(drawn); ++ball) found(ball, replicate) = drawn[ball];
    });
    if (stop.stop_requested()) return false;
    errors.error.emplace_back();
    errors.standard_error.emplace_back();
    for (Index r = 0; r < found.rows(); ++r) {
      const Spread spread = spread_of(found.row(r));
      errors.error.back().push_back(spread.mean);
      errors.standard_error.back().push_back(spread.standard_error);
    }
  }
  return true;
}

}  // namespace headgauge
