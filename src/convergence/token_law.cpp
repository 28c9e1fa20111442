#include "convergence/token_law.hpp"

#include <boost/math/distributions/normal.hpp>

#include "convergence/decompositions.hpp"

namespace headgauge {

Eigen::MatrixXd TokenLaw::covariance() const {
  const Eigen::MatrixXd unit = Eigen::MatrixXd::Identity(dimension, dimension);
  return unit * (sphere ? radius * radius / static_cast<double>(dimension) : variance);
}

TokenLaw::Tilted TokenLaw::tilted(double z) const {
  // Everything is divided by e^t, t = r |z|, which keeps it finite.
  const double r = atom(), t = r * std::abs(z), share = 1 / (radius * radius);
  const double up = share / 2, down = up * std::exp(-2 * t), none = (1 - share) * std::exp(-t);
  const double mass = up + down + none;
  return {t + std::log(mass), std::copysign(r * (up - down) / mass, z), r * r * (up + down) / mass};
}

void draw_tokens(const TokenLaw& law, const RandomStream& stream, Index first,
                 MatrixView<float> out) {
  const Index d = law.dimension;
  // The first random block of a token stays unused, so that tokens of earlier versions are drawn
  // again; each other block gives two normals.
  const auto blocks = static_cast<std::uint32_t>((d + 1) / 2 + 1);
  std::vector<double> z(static_cast<std::size_t>(d));
  // A coordinate of atoms is 0 if its normal is within the middle 1 - 1/radius^2.
  const double edge =
      law.atoms ? quantile(boost::math::normal(), 1 - 0.5 / (law.radius * law.radius)) : 0;
  for (Index i = 0; i < out.rows(); ++i) {
    const std::uint32_t block = static_cast<std::uint32_t>(first + i) * blocks;
    stream.normals(z, block + 1);
    if (law.atoms) {
      for (Index j = 0; j < d; ++j) {
        out(i, j) = static_cast<float>(std::abs(z[j]) < edge ? 0 : std::copysign(law.atom(), z[j]));
      }
      continue;
    }
    double scale = std::sqrt(law.variance);
    if (law.sphere) {
      double square = 0;
      for (double value : z) square += value * value;
      scale = law.radius / std::sqrt(square);
    }
    for (Index j = 0; j < d; ++j) out(i, j) = static_cast<float>(scale * z[j]);
  }
}

Eigen::MatrixXd square_root(const Eigen::MatrixXd& covariance) {
  const auto solver = eigenvalues(covariance);
  // Rounding gives a singular covariance eigenvalues slightly below 0, whose roots are NaN.
  const Eigen::VectorXd roots = solver.eigenvalues().cwiseMax(0).cwiseSqrt();
  return solver.eigenvectors() * roots.asDiagonal() * solver.eigenvectors().transpose();
}

double map_horizon(const Eigen::MatrixXd& covariance, const Eigen::MatrixXd& map) {
  const Eigen::MatrixXd root = square_root(covariance);
  return singular_values(root * map * root).singularValues()(0);
}

}  // namespace headgauge
