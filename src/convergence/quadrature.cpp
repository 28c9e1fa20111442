#include "convergence/quadrature.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

namespace headgauge {

Quadrature beta_quadrature(int nodes, double a, double b) {
  // Uses Jacobi polynomials with the weight (1 - x)^alpha (1 + x)^beta on [-1, 1], x = 2 v - 1.
  const double alpha = b - 1, beta = a - 1, sum = alpha + beta;
  Eigen::VectorXd diagonal(nodes), off(std::max(nodes - 1, 0));
  for (int k = 0; k < nodes; ++k) {
    // Both factors of the general formula are 0 at alpha + beta = 0.
    diagonal(k) = k == 0 ? (beta - alpha) / (sum + 2)
                         : (beta - alpha) * sum / ((2 * k + sum) * (2 * k + sum + 2));
  }
  for (int k = 1; k < nodes; ++k) {
    const double t = 2 * k + sum;
    // The factor k + alpha + beta cancels t - 1 at k = 1.
    const double square =
        k == 1 ? 4 * (1 + alpha) * (1 + beta) / (t * t * (t + 1))
               : 4 * k * (k + alpha) * (k + beta) * (k + sum) / (t * t * (t + 1) * (t - 1));
    off(k - 1) = std::sqrt(square);
  }
  Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver;
  solver.computeFromTridiagonal(diagonal, off);
  Quadrature rule;
  for (int k = 0; k < nodes; ++k) {
    rule.nodes.push_back(std::clamp((1 + solver.eigenvalues()(k)) / 2, 0.0, 1.0));
    const double first = solver.eigenvectors()(0, k);
    rule.weights.push_back(first * first);
  }
  return rule;
}

Quadrature normal_quadrature(int nodes, double scale) {
  // F(s xi)^2 shifts the mass of exp(-xi^2/2) by at most 2 s.
  const double reach = 9, low = -reach, high = reach + std::min(2 * scale, 40.0);
  Quadrature rule;
  for (int k = 0; k < nodes; ++k) {
    const double x = low + (high - low) * k / (nodes - 1);
    rule.nodes.push_back(x);
    rule.weights.push_back(std::exp(-x * x / 2));
  }
  const double sum = std::accumulate(rule.weights.begin(), rule.weights.end(), 0.0);
  for (double& weight : rule.weights) weight /= sum;
  return rule;
}

}  // namespace headgauge
