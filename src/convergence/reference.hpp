// Mean and covariance of a population's attention map: what simulations converge to.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "convergence/limit_map.hpp"
#include "convergence/moments.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

struct Reference {
  Moments moments;
  // Standard errors of the mean (Euclidean norm) and of the covariance (in the norm asked for);
  // 0 where they are exact. For a quadrature the difference from one with a node less a dimension,
  // for a sample the error of half as many tokens.
  double mean_error = 0;
  double covariance_error = 0;
  std::string method;  // "closed form", "quadrature", "1000000 draws"
};

struct ReferenceQuestion {
  const TokenLaw& law;
  const Eigen::MatrixXd& map;  // A, to be multiplied by each of the factors
  std::span<const double> factors;
  const Eigen::MatrixXd& values;  // V; empty: the identity
  const Normalizer* normalizer = nullptr;
  CovarianceNorm norm = CovarianceNorm::frobenius;
  Index draws = 0;  // where the moments are integrated by drawing
  std::uint64_t seed = 0;
  std::stop_token stop = {};  // after a stop the references are worthless
};

// Softmax over a Gaussian: exact (O1). Over a sphere: O3 by quadrature up to dimension 12 where
// that is as good as the draws, else by Dirichlet draws. All else: draws of x, mapped exactly. One
// for each factor, whose value does not depend on the others.
std::vector<Reference> exact_references(const ReferenceQuestion& question, ThreadPool& pool);

// Eigenvalues of the covariance of Gamma(X) over the sphere for the singular values of A (O3).
Eigen::VectorXd sphere_eigenvalues(const Eigen::VectorXd& singular, double radius, int nodes);

}  // namespace headgauge
