#include "heads/batch_means.hpp"

#include <cmath>

namespace headgauge {

void BatchMeans::add(const RowSum& batch) {
  if (batch.rows == 0) return;
  if (batches_ == 0) pilot_ = batch.value / batch.weight;
  ++batches_;
  all_.add(batch);
  const double deviation = batch.value - batch.weight * pilot_;
  squares_ += deviation * deviation;
  products_ += deviation * batch.weight;
  weights_ += batch.weight * batch.weight;
}

Estimate BatchMeans::finish() const {
  Estimate result;
  result.rows = all_.rows;
  if (all_.rows == 0) return result;
  result.value = all_.value / all_.weight;
  if (batches_ < kFewestBatches) return result;
  const double shift = result.value - pilot_;
  const double squares = squares_ - 2 * shift * products_ + shift * shift * weights_;
  const auto k = static_cast<double>(batches_);
  // Only rounding can make it negative. It is NaN if values are not finite, and stays NaN.
  result.standard_error = std::sqrt((squares < 0 ? 0 : squares) * k / (k - 1.0)) / all_.weight;
  if (!std::isnan(result.standard_error)) result.degrees_of_freedom = k - 1;
  return result;
}

}  // namespace headgauge
