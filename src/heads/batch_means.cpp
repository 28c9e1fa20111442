#include "heads/batch_means.hpp"

#include <cmath>

namespace headgauge {
namespace {

constexpr std::size_t kFewestBatches = 4;

}  // namespace

void BatchMeans::add(Index document, Index block, double sum, double weight, std::int64_t rows) {
  if (rows == 0) return;
  if (document != document_) documents_.emplace_back();
  if (document != document_ || block != block_) blocks_.emplace_back();
  document_ = document;
  block_ = block;
  rows_ += rows;
  for (Batch* batch : {&documents_.back(), &blocks_.back()}) {
    batch->sum += sum;
    batch->weight += weight;
  }
}

Estimate BatchMeans::finish() const {
  Estimate result;
  result.rows = rows_;
  if (rows_ == 0) return result;
  Batch all;
  for (const Batch& batch : blocks_) {
    all.sum += batch.sum;
    all.weight += batch.weight;
  }
  result.value = all.sum / all.weight;
  const auto& batches = documents_.size() >= kFewestBatches ? documents_ : blocks_;
  result.standard_error = standard_error(batches);
  if (!std::isnan(result.standard_error)) {
    result.degrees_of_freedom = static_cast<double>(batches.size()) - 1;
  }
  return result;
}

double BatchMeans::standard_error(const std::vector<Batch>& batches) {
  if (batches.size() < kFewestBatches) return kUndefined;
  Batch all;
  for (const Batch& batch : batches) {
    all.sum += batch.sum;
    all.weight += batch.weight;
  }
  const double mean = all.sum / all.weight;
  double squares = 0;
  for (const Batch& batch : batches) {
    const double deviation = batch.sum - batch.weight * mean;
    squares += deviation * deviation;
  }
  const auto k = static_cast<double>(batches.size());
  return std::sqrt(squares * k / (k - 1.0)) / all.weight;
}

}  // namespace headgauge
