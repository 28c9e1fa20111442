#include "capacity/batch_means.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace headgauge {
namespace {

constexpr Index kBatchRows = 64;
constexpr std::size_t kFewestBatches = 4;

}  // namespace

BatchMeans::BatchMeans(std::vector<BatchRow> rows, std::span<const int> lengths,
                       const std::map<int, Index>& document_lengths)
    : rows_(std::move(rows)),
      lengths_(lengths.begin(), lengths.end()),
      document_lengths_(document_lengths) {
  std::set<Index> edges(lengths_.begin(), lengths_.end());
  const Index longest = lengths_.empty() ? 0 : lengths_.back();
  for (Index edge = 1; edge < longest; edge *= 2) edges.insert(edge);
  std::map<std::pair<int, Index>, double> found;  // rows by document and upper edge
  const auto bin_of = [&](const BatchRow& row) {
    const auto edge = edges.upper_bound(row.query);
    return std::pair(row.document, edge == edges.end() ? row.query + 1 : *edge);
  };
  for (const BatchRow& row : rows_) found[bin_of(row)] += 1.0;
  for (const BatchRow& row : rows_) {
    const auto bin = bin_of(row);
    const auto edge = edges.lower_bound(bin.second);
    const Index begin = edge == edges.begin() || edge == edges.end() ? 0 : *std::prev(edge);
    weights_.push_back(static_cast<double>(bin.second - begin) / found[bin]);
  }
}

double BatchMeans::weight(std::size_t r, Index length) const {
  const Index edge = lengths_[static_cast<std::size_t>(length)];
  const BatchRow& row = rows_[r];
  return row.query < edge && document_lengths_.at(row.document) >= edge ? weights_[r] : 0.0;
}

void BatchMeans::Sums::add(const BatchRow& row, double weight, double value) {
  const bool same_document = rows > 0 && row.document == last.document;
  const bool same_block = same_document && row.query / kBatchRows == last.query / kBatchRows;
  if (!same_document) documents.emplace_back();
  if (!same_block) blocks.emplace_back();
  for (Batch* batch : {&documents.back(), &blocks.back()}) {
    batch->sum += weight * value;
    batch->weight += weight;
  }
  last = row;
  ++rows;
}

CellStatistics BatchMeans::Sums::finish() const {
  CellStatistics result;
  result.rows = rows;
  if (rows == 0) return result;
  Batch all;
  for (const Batch& batch : blocks) {
    all.sum += batch.sum;
    all.weight += batch.weight;
  }
  result.mean = all.sum / all.weight;
  result.standard_error = standard_error(documents.size() >= kFewestBatches ? documents : blocks);
  return result;
}

// sqrt(K/(K-1) sum_b (s_b - w_b m)^2) / sum_b w_b over K batches.
double BatchMeans::standard_error(std::span<const Batch> batches) {
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
