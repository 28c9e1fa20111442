#include "scan/statistics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "heads/batch_means.hpp"

namespace headgauge {

CellLayout::CellLayout(std::span<const std::unique_ptr<Measure>> measures) {
  for (const auto& measure : measures) measure->declare(*this);
}

void CellLayout::coord(std::string_view dim, Coordinate entries) {
  const auto known = std::ranges::find(coords_, dim, [](const auto& c) { return c.first; });
  if (known == coords_.end()) {
    coords_.emplace_back(dim, std::move(entries));
  } else if (known->second != entries) {
    throw UsageError(fault("the dim " + std::string(dim), "the same entries in every measure",
                           "others", "give one of the two dims another name"));
  }
}

MetricHandle CellLayout::add(const MetricInfo& metric) {
  if (!names_.insert(metric.name).second) {
    throw UsageError(fault("the metric " + metric.name, "one of that name", "a second one",
                           "give one of the two another name"));
  }
  if (metric.kind == MetricKind::derived) return {};
  const MetricHandle handle{cells(), size(metric)};
  range_of_.resize(handle.first + handle.count, std::ssize(ranges_));
  ranges_.push_back({metric, handle, metric.kind != MetricKind::row_longest});
  return handle;
}

std::vector<std::pair<std::string, Coordinate>> CellLayout::written_coords() const {
  const auto is_written = [&](const auto& coord) {
    return std::ranges::any_of(ranges_, [&](const CellRange& range) {
      return range.metric.kind != MetricKind::hidden &&
             std::ranges::find(range.metric.dims, coord.first) != range.metric.dims.end();
    });
  };
  std::vector<std::pair<std::string, Coordinate>> written;
  std::ranges::copy_if(coords_, std::back_inserter(written), is_written);
  return written;
}

Index CellLayout::size(const MetricInfo& metric) const {
  Index cells = 1;
  for (const std::string& dim : metric.dims) {
    const auto known = std::ranges::find(coords_, dim, [](const auto& c) { return c.first; });
    if (known == coords_.end()) {
      throw UsageError(fault("the metric " + metric.name, "dims that its measure names",
                             "\"" + dim + "\"", "call MetricRegistry::coord() before add()"));
    }
    cells *= std::visit([](const auto& entries) { return std::ssize(entries); }, known->second);
  }
  return cells;
}

HeadAccumulator::HeadAccumulator(const RowPlan& plan, Index cells) : plan_(plan), cells_(cells) {
  for (const DocumentPlan& document : plan.documents()) {
    sums_.emplace_back(document.segments * cells);
  }
}

std::size_t HeadAccumulator::bytes(const RowPlan& plan, Index cells) {
  std::size_t sums = 0;
  for (const DocumentPlan& document : plan.documents()) sums += document.segments * cells;
  return sums * sizeof(Sum);
}

void HeadAccumulator::clear() {
  for (auto& sums : sums_) std::fill(sums.begin(), sums.end(), Sum{});
}

// Most sums are of rows that count once each, or of none at all.
void HeadAccumulator::write(Index document, ByteWriter& part) const {
  enum Kind : std::uint8_t { none, plain, weighted };
  const std::vector<Sum>& sums = sums_[document];
  std::vector<std::uint8_t> kinds;
  for (const Sum& sum : sums) {
    kinds.push_back(sum.rows == 0                                 ? none
                    : sum.weight == static_cast<double>(sum.rows) ? plain
                                                                  : weighted);
  }
  part.put_list(kinds);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (kinds[i] == none) continue;
    part.put(sums[i].value);
    part.put(sums[i].rows);
    if (kinds[i] == weighted) part.put(sums[i].weight);
  }
}

void HeadAccumulator::read(Index document, ByteReader& part) {
  const auto kinds = part.take_list<std::uint8_t>();
  std::vector<Sum>& sums = sums_[document];
  if (kinds.size() != sums.size()) {
    throw BadInputError(fault("journal", "sums of as many rows and metrics as are measured",
                              "another number", "delete the journal to start again"));
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] = {};
    if (kinds[i] == 0) continue;
    sums[i].value = part.take<double>();
    sums[i].rows = part.take<std::int64_t>();
    sums[i].weight = kinds[i] == 1 ? static_cast<double>(sums[i].rows) : part.take<double>();
  }
}

void HeadAccumulator::add(Index document, const Tile& tile, MatrixView<const double> values,
                          MatrixView<const double> stand_for) {
  Sum* sums = sums_[document].data() + tile.first_segment * cells_;
  for (const Segment& segment : tile.segments) {
    for (Index row = segment.first; row < segment.first + segment.rows; ++row) {
      const double* value = values.row(row).data();
      const double* rows = stand_for.row(row).data();
      for (Index cell = 0; cell < cells_; ++cell) {
        if (std::isnan(value[cell])) continue;
        const double weight = tile.weights[row] * rows[cell];
        sums[cell].value += weight * value[cell];
        sums[cell].weight += weight;
        ++sums[cell].rows;
      }
    }
    sums += cells_;
  }
}

Estimate HeadAccumulator::reduce(Index cell, Index first_bin, Index last_bin) const {
  BatchMeans means;
  const Index edge = plan_.edges()[last_bin - 1];
  for (Index d = 0; d < std::ssize(sums_); ++d) {
    const DocumentPlan& document = plan_.documents()[d];
    if (document.length < edge) continue;
    const Sum* sums = sums_[d].data() + cell;
    for (const Tile& tile : document.tiles) {
      for (Index s = 0; s < std::ssize(tile.segments); ++s) {
        const Segment& segment = tile.segments[s];
        if (segment.bin < first_bin || segment.bin >= last_bin) continue;
        const Sum& part = sums[(tile.first_segment + s) * cells_];
        means.add(d, segment.block, part.value, part.weight, part.rows);
      }
    }
  }
  return means.finish();
}

Estimate series_statistics(std::span<const std::vector<double>> documents, Index count) {
  BatchMeans means;
  for (Index d = 0; d < std::ssize(documents); ++d) {
    const std::vector<double>& values = documents[d];
    if (std::ssize(values) < count) continue;
    for (Index i = 0; i < count; ++i) means.add(d, i / kBlockRows, values[i], 1.0, 1);
  }
  return means.finish();
}

LayerTable::LayerTable(const RowPlan& plan, const CellLayout& layout, Index heads)
    : plan_(plan), layout_(layout), heads_(heads) {
  for (const CellRange& range : layout.ranges()) {
    offsets_.push_back(per_head_);
    Index copies = range.by_length ? std::ssize(plan.lengths()) : 1;
    if (range.metric.by_position) copies += std::ssize(plan.edges());
    per_head_ += copies * range.handle.count;
  }
  statistics_.resize(per_head_ * heads);
}

std::size_t LayerTable::bytes(const RowPlan& plan, const CellLayout& layout, Index heads) {
  const std::size_t copies = plan.lengths().size() + plan.edges().size();
  return copies * layout.cells() * heads * sizeof(Estimate);
}

void LayerTable::fill(Index head, const HeadAccumulator& accumulator) {
  Estimate* out = statistics_.data() + head * per_head_;
  const Index lengths = std::ssize(plan_.lengths()), bins = std::ssize(plan_.edges());
  for (const CellRange& range : layout_.ranges()) {
    const auto put = [&](Index first_bin, Index last_bin) {
      for (Index c = 0; c < range.handle.count; ++c) {
        *out++ = accumulator.reduce(range.handle.first + c, first_bin, last_bin);
      }
    };
    for (Index l = range.by_length ? 0 : lengths - 1; l < lengths; ++l) {
      put(0, plan_.bins_of_length(l));
    }
    if (!range.metric.by_position) continue;
    for (Index bin = 0; bin < bins; ++bin) put(bin, bin + 1);
  }
}

Estimate LayerTable::at(MetricHandle metric, Index head, Index length, Index inner) const {
  if (!metric) return {};
  assert(head < heads_ && inner < metric.count);
  const Index r = layout_.range_of(metric);
  const Index copy = layout_.ranges()[r].by_length ? length : 0;
  return statistics_[head * per_head_ + offsets_[r] + copy * metric.count + inner];
}

Estimate LayerTable::at_position(MetricHandle metric, Index head, Index bin, Index inner) const {
  if (!metric) return {};
  assert(head < heads_ && inner < metric.count);
  const Index r = layout_.range_of(metric);
  const CellRange& range = layout_.ranges()[r];
  assert(range.metric.by_position);
  const Index lengths = range.by_length ? std::ssize(plan_.lengths()) : 1;
  return statistics_[head * per_head_ + offsets_[r] + (lengths + bin) * metric.count + inner];
}

}  // namespace headgauge
