#include "convergence/uniform.hpp"

#include <algorithm>
#include <cmath>

#include "convergence/decompositions.hpp"
#include "convergence/spread.hpp"

namespace headgauge {
namespace {

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
