#include "convergence/decompositions.hpp"

namespace headgauge {

Eigen::BDCSVD<Eigen::MatrixXd> singular_values(const Eigen::MatrixXd& matrix, unsigned options) {
  return Eigen::BDCSVD<Eigen::MatrixXd>(matrix, options);
}

Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigenvalues(const Eigen::MatrixXd& symmetric,
                                                           int options) {
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(symmetric, options);
}

}  // namespace headgauge
