#include "convergence/uniform.hpp"

#include <algorithm>
#include <cmath>

#include "convergence/decompositions.hpp"
#include "convergence/spread.hpp"

namespace headgauge {
namespace {

constexpr Index kStretched = 8;  // singular directions, both ways
constexpr Index kRandom = 32;    // directions drawn
constexpr std::uint32_t kNetStream = 0x80000000;

// Columns: unit vectors of the whitened space.
Eigen::MatrixXd directions(const Experiment& experiment, const Eigen::MatrixXd& root) {
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

}  // namespace

bool uniform_errors(const Experiment& experiment, double factor, const std::vector<int>& grid,
                    const std::vector<double>& radii, int replicates, ThreadPool& pool,
                    const std::stop_token& stop, UniformErrors& errors) {
  const Index d = experiment.law.dimension;
  const Eigen::MatrixXd root = square_root(experiment.law.covariance());
  const Eigen::MatrixXd rays = factor * experiment.map * root * directions(experiment, root);
  const Index each = rays.cols(), count = each * std::ssize(radii);
  Matrix<float> queries(count, d);  // z = A x, radius by radius
  Matrix<double> limits(count, d);
  const LimitMap map(experiment.law, experiment.normalizer);
  std::vector<double> z(static_cast<std::size_t>(d));
  errors = {};
  for (std::size_t r = 0; r < radii.size(); ++r) {
    double largest = errors.constant.empty() ? 0 : errors.constant.back();
    for (Index k = 0; k < each; ++k) {
      const Index row = static_cast<Index>(r) * each + k;
      for (Index j = 0; j < d; ++j) {
        queries(row, j) = static_cast<float>(radii[r] * rays(j, k));
        z[j] = queries(row, j);
      }
      map.apply(z, limits.row(row));
      largest = std::max(largest, std::sqrt(map.variance(z)));
    }
    errors.constant.push_back(largest);
  }
  struct Workspace {
    TokenAttention attention;
    TokenAttention::Scratch scratch;
    Matrix<float> outputs;
  };
  std::vector<Workspace> workspaces;
  for (int slot = 0; slot < pool.threads(); ++slot) {
    workspaces.push_back({TokenAttention(experiment.normalizer), {}, Matrix<float>(count, d)});
  }
  for (std::size_t point = 0; point < grid.size(); ++point) {
    Matrix<double> found(std::ssize(radii), replicates);
    pool.for_each_slot(replicates, [&](Index replicate, int slot) {
      Workspace& kept = workspaces[slot];
      Matrix<float> tokens(grid[point], d);
      draw_tokens(experiment.law,
                  {experiment.seed, RandomDomain::synthetic_uniform,
                   static_cast<std::uint32_t>(point), static_cast<std::uint32_t>(replicate)},
                  0, tokens);
      kept.attention.set_tokens(tokens);
      if (!kept.attention.attend(queries, kept.outputs, kept.scratch, stop)) return;
      double largest = 0;
      for (Index row = 0; row < count; ++row) {
        double square = 0;
        for (Index j = 0; j < d; ++j) {
          square += std::pow(kept.outputs(row, j) - limits(row, j), 2);
        }
        largest = std::max(largest, square);
        if ((row + 1) % each == 0) found(row / each, replicate) = std::sqrt(largest);
      }
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
