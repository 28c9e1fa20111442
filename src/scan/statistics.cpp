#include "scan/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "heads/batch_means.hpp"

namespace headgauge {

CellLayout::CellLayout(std::span<const std::unique_ptr<Measure>> measures) {
  for (const auto& measure : measures) {
    measure_first_.push_back(cells_);
    for (const MetricInfo& metric : measure->metrics()) {
      if (metric.kind == MetricKind::derived) continue;
      CellRange range{&metric, cells_, 1, metric.kind != MetricKind::row_longest,
                      metric.by_position};
      for (const std::string& dim : metric.dims) range.count *= measure->dim_size(dim);
      cells_ += range.count;
      by_name_.emplace(metric.name, ranges_.size());
      ranges_.push_back(range);
    }
  }
}

const CellRange& CellLayout::range(std::string_view metric) const {
  const auto found = by_name_.find(std::string(metric));
  if (found == by_name_.end()) {
    throw std::logic_error("no row metric named " + std::string(metric));
  }
  return ranges_[found->second];
}

HeadAccumulator::HeadAccumulator(const RowPlan& plan, Index cells) : plan_(plan), cells_(cells) {
  for (const DocumentPlan& document : plan.documents()) {
    sums_.emplace_back(static_cast<std::size_t>(document.segments * cells));
  }
}

std::size_t HeadAccumulator::bytes(const RowPlan& plan, Index cells) {
  Index sums = 0;
  for (const DocumentPlan& document : plan.documents()) sums += document.segments * cells;
  return static_cast<std::size_t>(sums) * sizeof(Sum);
}

void HeadAccumulator::clear() {
  for (auto& sums : sums_) std::fill(sums.begin(), sums.end(), Sum{});
}

void HeadAccumulator::add(Index document, const Tile& tile, MatrixView<const double> values) {
  Sum* sums = sums_[static_cast<std::size_t>(document)].data() + tile.first_segment * cells_;
  for (const Segment& segment : tile.segments) {
    for (Index row = segment.first; row < segment.first + segment.rows; ++row) {
      const double weight = tile.weights[static_cast<std::size_t>(row)];
      const double* value = values.row(row).data();
      for (Index cell = 0; cell < cells_; ++cell) {
        if (std::isnan(value[cell])) continue;
        sums[cell].value += weight * value[cell];
        sums[cell].weight += weight;
        ++sums[cell].rows;
      }
    }
    sums += cells_;
  }
}

CellStatistics HeadAccumulator::reduce(Index cell, Index first_bin, Index last_bin) const {
  BatchMeans means;
  const Index edge = plan_.edges()[static_cast<std::size_t>(last_bin - 1)];
  for (std::size_t d = 0; d < sums_.size(); ++d) {
    const DocumentPlan& document = plan_.documents()[d];
    if (document.length < edge) continue;
    const Sum* sums = sums_[d].data() + cell;
    for (const Tile& tile : document.tiles) {
      for (std::size_t s = 0; s < tile.segments.size(); ++s) {
        const Segment& segment = tile.segments[s];
        if (segment.bin < first_bin || segment.bin >= last_bin) continue;
        const Sum& part = sums[(tile.first_segment + static_cast<Index>(s)) * cells_];
        means.add(static_cast<Index>(d), segment.block, part.value, part.weight, part.rows);
      }
    }
  }
  return means.finish();
}

CellStatistics series_statistics(std::span<const std::vector<double>> documents, Index count) {
  BatchMeans means;
  for (std::size_t d = 0; d < documents.size(); ++d) {
    const std::vector<double>& values = documents[d];
    if (static_cast<Index>(values.size()) < count) continue;
    for (Index i = 0; i < count; ++i) {
      means.add(static_cast<Index>(d), i / kBlockRows, values[static_cast<std::size_t>(i)], 1.0, 1);
    }
  }
  return means.finish();
}

LayerTable::LayerTable(const RowPlan& plan, const CellLayout& layout, Index heads)
    : plan_(plan), layout_(layout), heads_(heads) {
  for (const CellRange& range : layout.ranges()) {
    offsets_.push_back(per_head_);
    Index copies = range.by_length ? static_cast<Index>(plan.lengths().size()) : 1;
    if (range.by_position) copies += static_cast<Index>(plan.edges().size());
    per_head_ += copies * range.count;
  }
  statistics_.resize(static_cast<std::size_t>(per_head_ * heads));
}

std::size_t LayerTable::bytes(const RowPlan& plan, const CellLayout& layout, Index heads) {
  const auto copies = static_cast<Index>(plan.lengths().size() + plan.edges().size());
  return static_cast<std::size_t>(layout.cells() * copies * heads) * sizeof(CellStatistics);
}

Index LayerTable::slot(const CellRange& range, Index length) const {
  const auto r = static_cast<std::size_t>(&range - layout_.ranges().data());
  return offsets_[r] + (range.by_length ? length : 0) * range.count;
}

void LayerTable::fill(Index head, const HeadAccumulator& accumulator) {
  CellStatistics* out = statistics_.data() + head * per_head_;
  const auto lengths = static_cast<Index>(plan_.lengths().size());
  const auto bins = static_cast<Index>(plan_.edges().size());
  for (const CellRange& range : layout_.ranges()) {
    for (Index l = range.by_length ? 0 : lengths - 1; l < lengths; ++l) {
      for (Index c = 0; c < range.count; ++c) {
        *out++ = accumulator.reduce(range.first + c, 0, plan_.bins_of_length(l));
      }
    }
    if (!range.by_position) continue;
    for (Index bin = 0; bin < bins; ++bin) {
      for (Index c = 0; c < range.count; ++c) {
        *out++ = accumulator.reduce(range.first + c, bin, bin + 1);
      }
    }
  }
}

CellStatistics LayerTable::at(std::string_view metric, Index head, Index length,
                              Index inner) const {
  const CellRange& range = layout_.range(metric);
  assert(head < heads_ && inner < range.count);
  return statistics_[static_cast<std::size_t>(head * per_head_ + slot(range, length) + inner)];
}

CellStatistics LayerTable::at_position(std::string_view metric, Index head, Index bin,
                                       Index inner) const {
  const CellRange& range = layout_.range(metric);
  assert(range.by_position && head < heads_ && inner < range.count);
  const auto lengths = static_cast<Index>(plan_.lengths().size());
  const Index first = slot(range, 0) + (range.by_length ? lengths : 1) * range.count;
  return statistics_[static_cast<std::size_t>(head * per_head_ + first + bin * range.count +
                                              inner)];
}

}  // namespace headgauge
