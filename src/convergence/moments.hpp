// Mean and covariance of attention outputs (docs/mathematics.md D5.2), and their errors.
#pragma once

#include <Eigen/Dense>

#include "headgauge/base.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

struct Moments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;  // population normalisation

  // Returns the moments of V y.
  Moments through(const Eigen::MatrixXd& values) const;
};

// Sums y and y y^T over rows: in float32 for 192 rows at a time, in float64 beyond.
class MomentSums {
 public:
  explicit MomentSums(Index d);
  void add(MatrixView<const float> rows);
  void merge(const MomentSums& other);
  double count() const { return count_; }
  Moments moments() const;

 private:
  double count_ = 0;
  Eigen::VectorXd sum_;
  Eigen::MatrixXd square_;
  PackedMatrix transposed_, packed_;
  Matrix<float> product_;
};

// The norm for errors of a covariance.
enum class CovarianceNorm { frobenius, spectral };
double covariance_norm(const Eigen::MatrixXd& symmetric, CovarianceNorm norm);

}  // namespace headgauge
