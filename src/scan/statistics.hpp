// Converts row values to means and standard errors, over lengths, position bins and documents.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/measure.hpp"
#include "heads/batch_means.hpp"
#include "scan/measured_rows.hpp"

namespace headgauge {

// A metric of row values, and the place of its values among all values of a row.
struct CellRange {
  MetricInfo metric;
  MetricHandle handle;
  bool by_length = true;  // kept at every length, else only at the longest
};

// The layout of a row's values: those that the measures declare, one measure after the other.
class CellLayout final : public MetricRegistry {
 public:
  // Lets every measure declare its metrics.
  explicit CellLayout(std::span<const std::unique_ptr<Measure>> measures);
  void coord(std::string_view dim, Coordinate entries) override;
  MetricHandle add(const MetricInfo& metric) override;

  const std::vector<CellRange>& ranges() const { return ranges_; }
  // Returns the index of the range with the handle `metric`.
  Index range_of(MetricHandle metric) const { return range_of_[metric.first]; }
  // Returns the dims of the metrics that are written out, with their labels.
  std::vector<std::pair<std::string, Coordinate>> written_coords() const;
  Index cells() const { return std::ssize(range_of_); }

 private:
  Index size(const MetricInfo& metric) const;

  std::vector<CellRange> ranges_;
  std::vector<Index> range_of_;  // by cell
  std::set<std::string> names_;
  std::vector<std::pair<std::string, Coordinate>> coords_;
};

// The sums of the rows of one head in one document.
class HeadSums final : public HeadMeans {
 public:
  HeadSums(const MeasuredRows& plan, const CellLayout& layout);
  static std::size_t bytes(const MeasuredRows& plan, const CellLayout& layout);
  // Begins a head in this document.
  void begin(Index document);
  // `values` is rows of the tile x cells, NaN for undefined; `stand_for` is the number of rows of
  // the tile that each value represents. Several threads may call it for different tiles.
  void add(const Tile& tile, MatrixView<const double> values, MatrixView<const double> stand_for);
  // Must be called after all tiles were added.
  void finish();
  const DocumentRows& document() const { return *document_; }
  // Returns the sums of a piece of the document, by cell.
  std::span<const RowSum> piece(Index piece) const;
  double at(MetricHandle metric, Index length, Index inner) const override;

  // Write and read the sums for a journal; read() replaces begin() to finish().
  void write(ByteWriter& part) const;
  void read(Index document, ByteReader& part);

 private:
  const MeasuredRows& plan_;
  const CellLayout& layout_;
  std::shared_ptr<const DocumentRows> document_;
  std::vector<RowSum> segments_;  // segments x cells
  std::vector<RowSum> pieces_;    // pieces x cells
};

// Returns the mean of the first `count` values of every document that has that many, and its
// standard error by batch means over blocks of 64 values or over documents, as for rows.
Estimate series_statistics(std::span<const std::vector<double>> documents, Index count);

// The statistics of all heads of a layer.
class LayerTable : public LayerStatistics {
 public:
  LayerTable(const MeasuredRows& plan, const CellLayout& layout, Index heads);
  // Returns the memory of a table, and the additional memory until it is finished.
  static std::size_t bytes(const MeasuredRows& plan, const CellLayout& layout, Index heads);
  static std::size_t unfinished_bytes(const MeasuredRows& plan, const CellLayout& layout,
                                      Index heads);
  // Adds a head of a document. The documents of each head must be added in order.
  void add(Index head, const HeadSums& sums);
  // Must be called after all documents were added and before reading statistics.
  void finish();
  Estimate at(MetricHandle metric, Index head, Index length, Index inner) const override;
  Estimate at_position(MetricHandle metric, Index head, Index bin, Index inner) const override;
  Index heads() const override { return heads_; }

 private:
  // The bins of one copy of a metric's statistics: those of a length, or a single bin.
  struct Copy {
    Index first_bin = 0;
    Index last_bin = 0;  // one past the end
  };
  std::vector<Copy> copies_of(const CellRange& range) const;
  void add_copy(const Copy& copy, MetricHandle cells, const HeadSums& sums, BatchMeans* means);

  const MeasuredRows& plan_;
  const CellLayout& layout_;
  Index heads_;
  std::vector<std::vector<Copy>> copies_;  // per range
  std::vector<Index> offsets_;             // per range: first entry of its statistics in a head
  Index per_head_ = 0;
  std::vector<RowSum> batch_;      // sums of one copy, by cell
  std::vector<BatchMeans> means_;  // empty when finished
  std::vector<Estimate> statistics_;
};

}  // namespace headgauge
