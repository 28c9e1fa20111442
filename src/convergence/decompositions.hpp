// Eigen's decompositions, compiled once, because each takes the compiler at least 10 seconds.
#pragma once

#include <Eigen/Dense>

namespace headgauge {

// `options` are Eigen's, such as ComputeFullU; by default only the singular values are computed.
Eigen::BDCSVD<Eigen::MatrixXd> singular_values(const Eigen::MatrixXd& matrix, unsigned options = 0);

// Computes eigenvectors too, unless given Eigen::EigenvaluesOnly.
Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigenvalues(
    const Eigen::MatrixXd& symmetric, int options = Eigen::ComputeEigenvectors);

}  // namespace headgauge
