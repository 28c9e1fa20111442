#include "measures/layer_rows.hpp"

#include <map>
#include <set>

namespace headgauge {

LayerRows::LayerRows(std::vector<LayerRow> rows, std::span<const int> lengths,
                     Index document_length)
    : rows_(std::move(rows)),
      lengths_(lengths.begin(), lengths.end()),
      document_length_(document_length) {
  std::set<Index> edges(lengths_.begin(), lengths_.end());
  const Index longest = lengths_.empty() ? 0 : lengths_.back();
  for (Index edge = 1; edge < longest; edge *= 2) edges.insert(edge);
  std::map<Index, double> found;  // rows by upper edge
  const auto bin_of = [&](const LayerRow& row) {
    const auto edge = edges.upper_bound(row.query);
    return edge == edges.end() ? row.query + 1 : *edge;
  };
  for (const LayerRow& row : rows_) found[bin_of(row)] += 1.0;
  for (const LayerRow& row : rows_) {
    const Index end = bin_of(row);
    const auto edge = edges.lower_bound(end);
    const Index begin = edge == edges.begin() || edge == edges.end() ? 0 : *std::prev(edge);
    weights_.push_back(static_cast<double>(end - begin) / found[end]);
  }
}

double LayerRows::weight(Index r, Index length) const {
  const Index edge = lengths_[length];
  return rows_[r].query < edge && document_length_ >= edge ? weights_[r] : 0.0;
}

}  // namespace headgauge
