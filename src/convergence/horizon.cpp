#include "convergence/horizon.hpp"

#include <algorithm>
#include <cmath>

#include "convergence/decompositions.hpp"
#include "convergence/token_law.hpp"

namespace headgauge {
namespace {

Eigen::MatrixXd covariance(MatrixView<const float> rows) {
  Eigen::MatrixXd x(rows.rows(), rows.cols());
  for (Index r = 0; r < rows.rows(); ++r) {
    for (Index c = 0; c < rows.cols(); ++c) x(r, c) = rows(r, c);
  }
  x.rowwise() -= x.colwise().mean().eval();
  return x.transpose() * x / static_cast<double>(rows.rows());
}

}  // namespace

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
