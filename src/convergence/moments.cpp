#include "convergence/moments.hpp"

#include <algorithm>

#include "convergence/decompositions.hpp"

namespace headgauge {
namespace {

constexpr Index kTransposed = PackedMatrix::kPanel;  // rows transposed at a time
constexpr Index kSummedInSingle = 4 * kTransposed;

}  // namespace

Moments Moments::through(const Eigen::MatrixXd& values) const {
  if (values.size() == 0) return *this;
  return {values * mean, values * covariance * values.transpose()};
}

MomentSums::MomentSums(Index d)
    : sum_(Eigen::VectorXd::Zero(d)), square_(Eigen::MatrixXd::Zero(d, d)), product_(d, d) {}

void MomentSums::add(MatrixView<const float> rows) {
  const Index d = rows.cols();
  for (Index first = 0; first < rows.rows(); first += kSummedInSingle) {
    const Index some = std::min(kSummedInSingle, rows.rows() - first);
    for (Index begin = first; begin < first + some; begin += kTransposed) {
      const Index count = std::min(kTransposed, first + some - begin);
      const auto part = rows.block(begin, count, 0, d);
      // A panel (d x 48, row-major) is the transpose in the layout that the product needs.
      transposed_.resize(d, kTransposed);
      transposed_.put_panel(part, 0);
      packed_.assign_rows(part);
      gemm({transposed_.panel(0), d, count, kTransposed}, packed_, product_,
           {.accumulate = begin > first});
      for (Index i = 0; i < count; ++i) {
        for (Index j = 0; j < d; ++j) sum_(j) += part(i, j);
      }
    }
    for (Index i = 0; i < d; ++i) {
      for (Index j = 0; j < d; ++j) square_(j, i) += product_(i, j);
    }
  }
  count_ += static_cast<double>(rows.rows());
}

void MomentSums::merge(const MomentSums& other) {
  count_ += other.count_;
  sum_ += other.sum_;
  square_ += other.square_;
}

Moments MomentSums::moments() const {
  const Eigen::VectorXd mean = sum_ / count_;
  const Eigen::MatrixXd covariance = square_ / count_ - mean * mean.transpose();
  return {mean, (covariance + covariance.transpose()) / 2};
}

double covariance_norm(const Eigen::MatrixXd& symmetric, CovarianceNorm norm) {
  if (norm == CovarianceNorm::frobenius) return symmetric.norm();
  if (!symmetric.allFinite()) return kUndefined;
  return eigenvalues(symmetric, Eigen::EigenvaluesOnly).eigenvalues().cwiseAbs().maxCoeff();
}

}  // namespace headgauge
