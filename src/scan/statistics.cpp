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
  refuse_if<UsageError>(!names_.insert(metric.name).second, "the metric " + metric.name,
                        "one of that name", "a second one", "give one of the two another name");
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
    refuse_if<UsageError>(known == coords_.end(), "the metric " + metric.name,
                          "dims that its measure names", "\"" + dim + "\"",
                          "call MetricRegistry::coord() before add()");
    cells *= std::visit([](const auto& entries) { return std::ssize(entries); }, known->second);
  }
  return cells;
}

HeadSums::HeadSums(const MeasuredRows& plan, const CellLayout& layout)
    : plan_(plan), layout_(layout) {}

std::size_t HeadSums::bytes(const MeasuredRows& plan, const CellLayout& layout) {
  std::size_t sums = 0;
  for (const Index number : plan.one_of_each_length()) {
    const auto document = plan.document(number);
    sums = std::max(sums, static_cast<std::size_t>(document->segments) + document->pieces.size());
  }
  return sums * static_cast<std::size_t>(layout.cells()) * sizeof(RowSum);
}

void HeadSums::begin(Index document) {
  document_ = plan_.document(document);
  segments_.assign(document_->segments * layout_.cells(), RowSum{});
}

void HeadSums::add(const Tile& tile, MatrixView<const double> values,
                   MatrixView<const double> stand_for) {
  const Index cells = layout_.cells();
  RowSum* sums = segments_.data() + tile.first_segment * cells;
  for (const Segment& segment : tile.segments) {
    for (Index row = segment.first; row < segment.first + segment.rows; ++row) {
      const double* value = values.row(row).data();
      const double* rows = stand_for.row(row).data();
      for (Index cell = 0; cell < cells; ++cell) {
        if (std::isnan(value[cell])) continue;
        const double weight = tile.weights[row] * rows[cell];
        sums[cell].add({weight * value[cell], weight, 1});
      }
    }
    sums += cells;
  }
}

void HeadSums::finish() {
  const Index cells = layout_.cells();
  pieces_.assign(document_->pieces.size() * cells, RowSum{});
  const RowSum* sums = segments_.data();
  for (const Tile& tile : document_->tiles) {
    for (const Segment& segment : tile.segments) {
      const Piece& piece = document_->pieces[segment.piece];
      for (const CellRange& range : layout_.ranges()) {
        const Index into = range.metric.by_position ? segment.piece
                           : range.by_length        ? piece.of_length
                                                    : piece.of_all;
        for (Index c = range.handle.first; c < range.handle.first + range.handle.count; ++c) {
          pieces_[into * cells + c].add(sums[c]);
        }
      }
      sums += cells;
    }
  }
}

std::span<const RowSum> HeadSums::piece(Index piece) const {
  const Index cells = layout_.cells();
  return std::span(pieces_).subspan(piece * cells, cells);
}

double HeadSums::at(MetricHandle metric, Index length, Index inner) const {
  const DocumentRows& document = *document_;
  if (!metric || plan_.lengths()[length] > document.length) return kUndefined;
  RowSum sum;
  for (Index p = 0; p < std::ssize(document.pieces); ++p) {
    if (document.pieces[p].bin >= plan_.bins_of_length(length)) break;
    sum.add(piece(p)[metric.first + inner]);
  }
  return sum.rows > 0 ? sum.value / sum.weight : kUndefined;
}

namespace {

// The stored parts of a sum: many sums have as many rows as the one before, each with weight 1, or
// no rows.
enum class Kept : std::uint8_t { nothing, value, rows, weight };

Kept kept_of(const RowSum& sum, const RowSum& before) {
  if (sum.rows == 0) return Kept::nothing;
  if (sum.rows == before.rows && sum.weight == before.weight) return Kept::value;
  return sum.weight == static_cast<double>(sum.rows) ? Kept::rows : Kept::weight;
}

}  // namespace

void HeadSums::write(ByteWriter& part) const {
  std::vector<Kept> kinds;            // kinds of runs of equal kind
  std::vector<std::uint32_t> counts;  // length of each run
  std::vector<double> numbers;
  RowSum before;
  for (const RowSum& sum : pieces_) {
    const Kept kept = kept_of(sum, before);
    if (kinds.empty() || kinds.back() != kept) {
      kinds.push_back(kept);
      counts.push_back(0);
    }
    ++counts.back();
    if (kept == Kept::nothing) continue;
    before = sum;
    numbers.push_back(sum.value);
    if (kept >= Kept::rows) numbers.push_back(static_cast<double>(sum.rows));
    if (kept == Kept::weight) numbers.push_back(sum.weight);
  }
  part.put_list(kinds);
  part.put_list(counts);
  part.put_list(numbers);
}

void HeadSums::read(Index document, ByteReader& part) {
  document_ = plan_.document(document);
  pieces_.assign(document_->pieces.size() * layout_.cells(), RowSum{});
  const auto kinds = part.take_list<Kept>();
  const auto counts = part.take_list<std::uint32_t>();
  const auto numbers = part.take_list<double>();
  const auto refuse = [] {
    throw DamagedPartError("sums of as many rows and metrics as are measured", "another number");
  };
  if (counts.size() != kinds.size()) refuse();
  auto number = numbers.begin();
  const auto take = [&] {
    if (number == numbers.end()) refuse();
    return *number++;
  };
  const auto take_rows = [&] {
    const double rows = take();
    if (!(rows >= 0 && rows <= static_cast<double>(kMostRows))) refuse();
    return static_cast<std::int64_t>(rows);
  };
  std::size_t place = 0;
  RowSum before;
  for (std::size_t run = 0; run < kinds.size(); ++run) {
    if (counts[run] > pieces_.size() - place) refuse();
    const std::size_t end = place + counts[run];
    for (; place < end && kinds[run] != Kept::nothing; ++place) {
      before.value = take();
      if (kinds[run] >= Kept::rows) before.rows = take_rows();
      if (kinds[run] >= Kept::rows) before.weight = static_cast<double>(before.rows);
      if (kinds[run] == Kept::weight) before.weight = take();
      pieces_[place] = before;
    }
    place = end;
  }
  if (place != pieces_.size() || number != numbers.end()) refuse();
}

Estimate series_statistics(std::span<const std::vector<double>> documents, Index count) {
  const auto holds = [&](const auto& values) { return std::ssize(values) >= count; };
  const Index batch = documents_are_batches(std::ranges::count_if(documents, holds))
                          ? std::max<Index>(count, 1)
                          : kBlockRows;
  BatchMeans means;
  for (const std::vector<double>& values : documents) {
    if (!holds(values)) continue;
    for (Index begin = 0; begin < count; begin += batch) {
      RowSum sum;
      for (Index i = begin; i < std::min(count, begin + batch); ++i) sum.add({values[i], 1.0, 1});
      means.add(sum);
    }
  }
  return means.finish();
}

LayerTable::LayerTable(const MeasuredRows& plan, const CellLayout& layout, Index heads)
    : plan_(plan), layout_(layout), heads_(heads) {
  for (const CellRange& range : layout.ranges()) {
    offsets_.push_back(per_head_);
    copies_.push_back(copies_of(range));
    per_head_ += std::ssize(copies_.back()) * range.handle.count;
  }
  means_.resize(per_head_ * heads);
}

std::size_t LayerTable::bytes(const MeasuredRows& plan, const CellLayout& layout, Index heads) {
  const std::size_t copies = plan.lengths().size() + plan.edges().size();
  return copies * layout.cells() * heads * sizeof(Estimate);
}

std::size_t LayerTable::unfinished_bytes(const MeasuredRows& plan, const CellLayout& layout,
                                         Index heads) {
  return bytes(plan, layout, heads) / sizeof(Estimate) * sizeof(BatchMeans);
}

std::vector<LayerTable::Copy> LayerTable::copies_of(const CellRange& range) const {
  std::vector<Copy> copies;
  const Index lengths = std::ssize(plan_.lengths()), bins = std::ssize(plan_.edges());
  for (Index l = range.by_length ? 0 : lengths - 1; l < lengths; ++l) {
    copies.push_back({0, plan_.bins_of_length(l)});
  }
  for (Index bin = 0; bin < bins && range.metric.by_position; ++bin) {
    copies.push_back({bin, bin + 1});
  }
  return copies;
}

void LayerTable::add(Index head, const HeadSums& sums) {
  BatchMeans* means = means_.data() + head * per_head_;
  for (std::size_t r = 0; r < copies_.size(); ++r) {
    const MetricHandle cells = layout_.ranges()[r].handle;
    for (const Copy& copy : copies_[r]) {
      add_copy(copy, cells, sums, means);
      means += cells.count;
    }
  }
}

void LayerTable::add_copy(const Copy& copy, MetricHandle cells, const HeadSums& sums,
                          BatchMeans* means) {
  const DocumentRows& document = sums.document();
  if (document.length < plan_.edges()[copy.last_bin - 1]) return;
  const bool whole = plan_.documents_are_batches_to(copy.last_bin - 1);
  const auto begin = std::ranges::lower_bound(document.pieces, copy.first_bin, {}, &Piece::bin);
  const auto end = std::ranges::lower_bound(document.pieces, copy.last_bin, {}, &Piece::bin);
  for (auto piece = begin; piece != end;) {
    batch_.assign(cells.count, RowSum{});
    const Index block = piece->block;
    for (; piece != end && (whole || piece->block == block); ++piece) {
      const auto of_piece = sums.piece(piece - document.pieces.begin());
      for (Index c = 0; c < cells.count; ++c) batch_[c].add(of_piece[cells.first + c]);
    }
    for (Index c = 0; c < cells.count; ++c) means[c].add(batch_[c]);
  }
}

void LayerTable::finish() {
  for (const BatchMeans& means : means_) statistics_.push_back(means.finish());
  means_ = {};
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
