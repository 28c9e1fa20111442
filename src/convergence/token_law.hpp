// The laws that synthetic tokens are drawn from.
#pragma once

#include <Eigen/Dense>
#include <vector>

#include "base/random.hpp"
#include "headgauge/base.hpp"

namespace headgauge {

// Uniform on a sphere about the origin, or an equal mixture of normals with one covariance
// `variance` I; a single one about the origin is the Gaussian of the experiments.
struct TokenLaw {
  Index dimension = 0;
  bool sphere = false;
  double radius = 1;      // of the sphere
  double variance = 1;    // of a normal
  Eigen::MatrixXd means;  // d x components

  // Whether x and -x are alike, so that the mean of every attention map is 0.
  bool symmetric() const { return sphere || (means.cols() == 1 && means.isZero(0)); }
  Eigen::MatrixXd covariance() const;
};

// Tokens number first, first + 1, ... of a stream, a row each.
void draw_tokens(const TokenLaw& law, const RandomStream& stream, Index first,
                 MatrixView<float> out);

// H = ||Sigma^{1/2} A Sigma^{1/2}||_2 (docs/mathematics.md D5.3).
double map_horizon(const Eigen::MatrixXd& covariance, const Eigen::MatrixXd& map);

// Sigma^{1/2}, symmetric.
Eigen::MatrixXd square_root(const Eigen::MatrixXd& covariance);

}  // namespace headgauge
