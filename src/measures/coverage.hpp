// The coverage group (docs/mathematics.md 7a): how much of the keys that the heads of a layer
// select at least one head distinguishes, and how far two heads select the same keys.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "headgauge/measure.hpp"
#include "headgauge/parallel.hpp"
#include "measures/top_sets.hpp"

namespace headgauge {

class Coverage {
 public:
  // `sizes`: the N of top_n, ascending and distinct. `lengths`: those of the scan, ascending.
  Coverage(std::vector<int> lengths, std::vector<int> sizes, int slots);

  // `separability` says where the separability of the heads is found.
  void declare(MetricRegistry& metrics, MetricHandle separability);
  // The text of `head` is measured as far as `length`.
  void begin_head(const HeadInput& head, Index length);
  TopSets& sets() { return sets_; }
  // What is kept of the document that was measured last, and back.
  void write_part(int document, ByteWriter& part) const;
  void read_part(int document, ByteReader& part);
  // Takes unions and overlaps over the sets kept since the last call.
  void end_layer(int layer, const LayerStatistics& statistics, ThreadPool& pool);
  void drop_layer() { sets_.clear(); }
  void derive(Results& results) const;

 private:
  struct LayerResult {
    int layer = 0;
    Matrix<Estimate> coverage, independent, paper;  // length x size
    std::map<int, std::pair<double, int>> overlap;  // by head: largest overlap, partner
  };
  struct Layer;
  struct Unions;

  Layer collect(const LayerStatistics& statistics) const;
  Unions unite(const Layer& layer, ThreadPool& pool) const;
  void average(const Layer& layer, const Unions& unions, LayerResult& result) const;
  Matrix<double> overlap(const Layer& layer, ThreadPool& pool) const;

  Index lengths() const { return std::ssize(lengths_); }
  Index sizes() const { return std::ssize(sizes_); }

  std::vector<int> lengths_, sizes_;
  MetricHandle separability_;
  TopSets sets_;
  std::map<int, Index> document_lengths_;
  std::vector<LayerResult> results_;
};

}  // namespace headgauge
