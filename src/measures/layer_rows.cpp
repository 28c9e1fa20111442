#include "measures/layer_rows.hpp"

#include <map>
#include <set>

namespace headgauge {

LayerRows::LayerRows(std::vector<LayerRow> rows, std::span<const int> lengths,
                     const std::map<int, Index>& document_lengths)
    : rows_(std::move(rows)),
      lengths_(lengths.begin(), lengths.end()),
      document_lengths_(document_lengths) {
  std::set<Index> edges(lengths_.begin(), lengths_.end());
  const Index longest = lengths_.empty() ? 0 : lengths_.back();
  for (Index edge = 1; edge < longest; edge *= 2) edges.insert(edge);
  std::map<std::pair<int, Index>, double> found;  // rows by document and upper edge
  const auto bin_of = [&](const LayerRow& row) {
    const auto edge = edges.upper_bound(row.query);
    return std::pair(row.document, edge == edges.end() ? row.query + 1 : *edge);
  };
  for (const LayerRow& row : rows_) found[bin_of(row)] += 1.0;
  for (const LayerRow& row : rows_) {
    const auto bin = bin_of(row);
    const auto edge = edges.lower_bound(bin.second);
    const Index begin = edge == edges.begin() || edge == edges.end() ? 0 : *std::prev(edge);
    weights_.push_back(static_cast<double>(bin.second - begin) / found[bin]);
  }
}

double LayerRows::weight(Index r, Index length) const {
  const Index edge = lengths_[length];
  const LayerRow& row = rows_[r];
  return row.query < edge && document_lengths_.at(row.document) >= edge ? weights_[r] : 0.0;
}

}  // namespace headgauge
