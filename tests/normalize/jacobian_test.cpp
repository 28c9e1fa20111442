// Diagonal plus low rank against dense matrices.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <random>

#include "headgauge/normalize.hpp"

namespace headgauge {
namespace {

TEST(Jacobians, NormsAndProductsOfAnyShape) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    const std::size_t n = 1 + seed % 150, rank = seed % 5;
    const auto draw = [&](double scale) {
      std::vector<double> v(n);
      for (double& x : v) x = scale * normal(generator);
      return v;
    };
    Jacobian j;
    j.diagonal = draw(seed % 3 == 0 ? 0.0 : 1.0);
    Eigen::MatrixXd m =
        Eigen::Map<Eigen::VectorXd>(j.diagonal.data(), static_cast<Eigen::Index>(n)).asDiagonal();
    for (std::size_t k = 0; k < rank; ++k) {
      j.terms.push_back({draw(0.3), draw(0.1)});
      const auto size = static_cast<Eigen::Index>(n);
      m += Eigen::Map<Eigen::VectorXd>(j.terms[k].left.data(), size) *
           Eigen::Map<Eigen::VectorXd>(j.terms[k].right.data(), size).transpose();
    }
    const auto v = draw(1);
    std::vector<double> out(n);
    j.apply(v, out);
    const Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXd>(v.data(), m.cols());
    const Eigen::VectorXd right = m * x, left = m.transpose() * x;
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_NEAR(out[i], right[static_cast<Eigen::Index>(i)], 1e-11);
    j.apply_transposed(v, out);
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_NEAR(out[i], left[static_cast<Eigen::Index>(i)], 1e-11);
    ASSERT_NEAR(j.frobenius(), m.norm(), 1e-11 * (1 + m.norm()));
    const double spectral = Eigen::JacobiSVD<Eigen::MatrixXd>(m).singularValues()[0];
    ASSERT_NEAR(j.spectral(), spectral, 1e-8 * (1 + spectral)) << seed;
  }
}

}  // namespace
}  // namespace headgauge
