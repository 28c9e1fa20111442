// Mean and covariance of a population's attention map: the limits of the simulations.
#pragma once

#include <Eigen/Dense>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "convergence/attention.hpp"
#include "convergence/limit_map.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

struct Reference {
  Moments moments;
  // Standard errors of the mean (Euclidean norm) and of the covariance (in the requested norm); 0
  // if exact. For a quadrature: the difference from one with one node fewer per dimension. For a
  // sample: the error of half as many tokens.
  double mean_error = 0;
  double covariance_error = 0;
  std::string method;  // "closed form", "quadrature", "1000000 draws"
};

struct ReferenceQuestion {
  const TokenLaw& law;
  const Eigen::MatrixXd& map;  // A, which each factor multiplies
  std::span<const double> factors;
  const Eigen::MatrixXd& values;  // V; empty: the identity
  const Normalizer* normalizer = nullptr;
  CovarianceNorm norm = CovarianceNorm::frobenius;
  Index draws = 0;  // number of draws, if the moments are integrated by drawing
  std::uint64_t seed = 0;
  std::stop_token stop = {};  // after a stop the references are invalid
};

// Returns one reference per factor, independent of the other factors. Softmax over a Gaussian:
// exact (O1). Softmax over a sphere: O3 by quadrature up to dimension 12 if that is as accurate as
// the draws, otherwise by Dirichlet draws. All others: draws of x, mapped exactly.
std::vector<Reference> exact_references(const ReferenceQuestion& question, ThreadPool& pool);

// Returns the eigenvalues of the covariance of Gamma(X) over the sphere from the singular values of
// A (O3).
Eigen::VectorXd sphere_eigenvalues(const Eigen::VectorXd& singular, double radius, int nodes);

}  // namespace headgauge
