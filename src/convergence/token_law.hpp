// The distributions of synthetic tokens.
#pragma once

#include <Eigen/Dense>
#include <cmath>

#include "base/random.hpp"
#include "headgauge/base.hpp"

namespace headgauge {

// A normal distribution of covariance `variance` I, or a uniform one on a sphere. Or atoms:
// independent coordinates of that variance, each -r, 0 or r, where r is `radius` standard
// deviations. Their tokens are bounded, so sub-Gaussian; their kurtosis is the square of `radius`.
// x and -x have the same distribution, so the mean of every attention map is 0.
struct TokenLaw {
  Index dimension = 0;
  bool sphere = false, atoms = false;
  double radius = 1;    // of the sphere, or of atoms
  double variance = 1;  // of a normal

  Eigen::MatrixXd covariance() const;
  // Atoms have these: r, and the moments of a coordinate y under the weights e^(z y).
  double atom() const { return radius * std::sqrt(variance); }
  struct Tilted {
    double log_mass, mean, square;
  };
  Tilted tilted(double z) const;
};

// Draws tokens first, first + 1, ... of a stream, one per row.
void draw_tokens(const TokenLaw& law, const RandomStream& stream, Index first,
                 MatrixView<float> out);

// Returns H = ||Sigma^{1/2} A Sigma^{1/2}||_2 (docs/mathematics.md D5.3).
double map_horizon(const Eigen::MatrixXd& covariance, const Eigen::MatrixXd& map);

// Returns Sigma^{1/2}, symmetric.
Eigen::MatrixXd square_root(const Eigen::MatrixXd& covariance);

}  // namespace headgauge
