#include "statistics/ridge_regression.hpp"

#include <cmath>
#include <limits>

namespace headgauge {
namespace {

constexpr int kLambdas = 25;
constexpr double kLeastLambda = 1e-4;  // relative to the mean diagonal of the kernel
constexpr double kStep = 1.8;

std::vector<double> listed(const Eigen::VectorXd& values) {
  return {values.begin(), values.end()};
}

}  // namespace

RidgeRegression::RidgeRegression(const std::vector<std::vector<double>>& features,
                                 std::span<const double> y, std::span<const double> weights) {
  const auto rows = std::ssize(features);
  weighted_.resize(rows, std::ssize(features.front()));
  y_.resize(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const auto place = static_cast<std::size_t>(i);
    const double root = std::sqrt(weights[place]);
    y_(i) = root * y[place];
    for (Eigen::Index j = 0; j < weighted_.cols(); ++j) {
      weighted_(i, j) = root * features[place][static_cast<std::size_t>(j)];
    }
  }
  // The dual form: the kernel has as many rows as there are observations.
  const Eigen::MatrixXd kernel = weighted_ * weighted_.transpose();
  const Eigen::MatrixXd one = Eigen::MatrixXd::Identity(rows, rows);
  const double diagonal = std::max(kernel.trace() / static_cast<double>(rows), 1e-300);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kLambdas; ++i) {
    const double lambda = kLeastLambda * diagonal * std::pow(kStep, i);
    Eigen::LLT<Eigen::MatrixXd> solver(kernel + lambda * one);
    const Eigen::VectorXd dual = solver.solve(y_);
    const Eigen::VectorXd inverse = solver.solve(one).diagonal();
    const double error = dual.cwiseQuotient(inverse).squaredNorm();  // leaving each row out
    if (!(error < least)) continue;
    least = error;
    lambda_ = lambda;
    solver_ = std::move(solver);
    variance_ = lambda * y_.dot(dual) / static_cast<double>(rows);
  }
}

std::vector<double> RidgeRegression::coefficients() const {
  return listed(weighted_.transpose() * solver_.solve(y_));
}

// A draw from the prior, moved by what the rows say beyond it (Matheron's rule).
std::vector<double> RidgeRegression::draw(std::span<const double> normals) const {
  const Eigen::Map<const Eigen::VectorXd> all(normals.data(), std::ssize(normals));
  const Eigen::VectorXd prior = std::sqrt(variance_ / lambda_) * all.head(weighted_.cols());
  const Eigen::VectorXd errors = std::sqrt(variance_) * all.tail(weighted_.rows());
  return listed(prior + weighted_.transpose() * solver_.solve(y_ - weighted_ * prior - errors));
}

}  // namespace headgauge
