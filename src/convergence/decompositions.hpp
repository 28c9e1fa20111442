// The decompositions of Eigen, compiled once: each takes the compiler 10 seconds and more.
#pragma once

#include <Eigen/Dense>

namespace headgauge {

// With options of Eigen, such as ComputeFullU; none: the singular values alone.
Eigen::BDCSVD<Eigen::MatrixXd> singular_values(const Eigen::MatrixXd& matrix, unsigned options = 0);

// With the eigenvectors, or with Eigen::EigenvaluesOnly.
Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigenvalues(
    const Eigen::MatrixXd& symmetric, int options = Eigen::ComputeEigenvectors);

}  // namespace headgauge
