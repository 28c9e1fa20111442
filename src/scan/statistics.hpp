// From values of rows to means and standard errors, over lengths, position bins and documents.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/measure.hpp"
#include "scan/plan.hpp"

namespace headgauge {

// A metric of row values and where its values stand among all values of a row.
struct CellRange {
  MetricInfo metric;
  MetricHandle handle;
  bool by_length = true;  // kept at every length, else at the longest only
};

// The values of a row: those that the measures declare, one measure after the other.
class CellLayout final : public MetricRegistry {
 public:
  // Lets every measure declare its metrics.
  explicit CellLayout(std::span<const std::unique_ptr<Measure>> measures);
  void coord(std::string_view dim, Coordinate entries) override;
  MetricHandle add(const MetricInfo& metric) override;

  const std::vector<CellRange>& ranges() const { return ranges_; }
  // The number of the range that `metric` is the handle of.
  Index range_of(MetricHandle metric) const { return range_of_[metric.first]; }
  // The dims of the metrics that are written out, with their entries.
  std::vector<std::pair<std::string, Coordinate>> written_coords() const;
  Index cells() const { return std::ssize(range_of_); }

 private:
  Index size(const MetricInfo& metric) const;

  std::vector<CellRange> ranges_;
  std::vector<Index> range_of_;  // by cell
  std::set<std::string> names_;
  std::vector<std::pair<std::string, Coordinate>> coords_;
};

// Collects the rows of one head over all documents. add() may be called from several threads for
// different tiles: each writes its own segments.
class HeadAccumulator {
 public:
  HeadAccumulator(const RowPlan& plan, Index cells);
  static std::size_t bytes(const RowPlan& plan, Index cells);
  // `values` is rows of the tile x cells, NaN where undefined; `stand_for` how many rows of the
  // tile each of them stands for.
  void add(Index document, const Tile& tile, MatrixView<const double> values,
           MatrixView<const double> stand_for);
  void clear();
  // The sums of one document, as a journal keeps them.
  void write(Index document, ByteWriter& part) const;
  void read(Index document, ByteReader& part);
  // Mean and standard error of a cell over the bins [first_bin, last_bin), in documents that hold
  // all of them. The standard error is that of batch means: over blocks of 64 rows, or over
  // documents where there are at least 4; undefined with fewer than 4 batches.
  Estimate reduce(Index cell, Index first_bin, Index last_bin) const;

 private:
  struct Sum {
    double value = 0;
    double weight = 0;
    std::int64_t rows = 0;
  };
  const RowPlan& plan_;
  Index cells_;
  std::vector<std::vector<Sum>> sums_;  // document -> segments x cells
};

// Mean of the first `count` values of every document that has so many, and its standard error by
// batch means over blocks of 64 values or over documents, as for rows.
Estimate series_statistics(std::span<const std::vector<double>> documents, Index count);

// The statistics of all heads of a layer.
class LayerTable : public LayerStatistics {
 public:
  LayerTable(const RowPlan& plan, const CellLayout& layout, Index heads);
  static std::size_t bytes(const RowPlan& plan, const CellLayout& layout, Index heads);
  // Reads the accumulator of a finished head into the table.
  void fill(Index head, const HeadAccumulator& accumulator);
  Estimate at(MetricHandle metric, Index head, Index length, Index inner) const override;
  Estimate at_position(MetricHandle metric, Index head, Index bin, Index inner) const override;
  Index heads() const override { return heads_; }

 private:
  const RowPlan& plan_;
  const CellLayout& layout_;
  Index heads_;
  std::vector<Index> offsets_;  // per range: first entry of its statistics in a head
  Index per_head_ = 0;
  std::vector<Estimate> statistics_;
};

}  // namespace headgauge
