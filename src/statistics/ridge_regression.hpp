// Ridge regression with few rows and many coefficients (docs/mathematics.md 7e).
#pragma once

#include <Eigen/Cholesky>
#include <span>
#include <vector>

namespace headgauge {

// Fits y = X b without an intercept: minimises sum_i w_i (y_i - x_i b)^2 + lambda |b|^2. The
// lambda is the one of a grid whose leave-one-out error is the smallest.
class RidgeRegression {
 public:
  // `features`: one row for each of `y`, all of the same number. There is at least one row, and
  // weights are above 0.
  RidgeRegression(const std::vector<std::vector<double>>& features, std::span<const double> y,
                  std::span<const double> weights);

  std::vector<double> coefficients() const;
  // Returns coefficients drawn from the posterior distribution, where errors have the variance
  // s^2 / w_i and coefficients the prior variance s^2 / lambda. `normals` has draw_size() standard
  // normal numbers.
  std::vector<double> draw(std::span<const double> normals) const;
  Eigen::Index draw_size() const { return weighted_.rows() + weighted_.cols(); }
  double lambda() const { return lambda_; }

 private:
  Eigen::MatrixXd weighted_;  // rows times the square root of their weight
  Eigen::VectorXd y_;         // the same
  Eigen::LLT<Eigen::MatrixXd> solver_;
  double lambda_ = 0;
  double variance_ = 0;  // s^2
};

}  // namespace headgauge
