// The coverage group (docs/mathematics.md 7a): which share of the keys that the heads of a layer
// select is distinguished by at least one head, and how far two heads select the same keys.
#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "headgauge/measure.hpp"
#include "headgauge/parallel.hpp"
#include "heads/batch_means.hpp"
#include "measures/top_sets.hpp"

namespace headgauge {

// Combines the sets of a document into sums, which are all that is kept of it.
class Coverage {
 public:
  // `lengths` are those of the scan, ascending; `sizes` the N of top_n, ascending and distinct;
  // `documents` the number of tokens in each.
  Coverage(std::vector<int> lengths, std::vector<int> sizes, std::span<const Index> documents,
           int slots);

  // `separability_with_sinks` is the metric that holds the heads' separability.
  void declare(MetricRegistry& metrics, MetricHandle separability);
  // Measures the text of `head` up to `length`.
  void begin_head(const HeadInput& head, Index length);
  TopSets& sets() { return sets_; }
  void end_head(const HeadInput& head, const HeadMeans& means);
  // Writes unions and overlaps of the sets kept since the last call.
  void write_part(ThreadPool& pool, ByteWriter& part);
  void read_part(ByteReader& part);
  void end_layer(int layer, const LayerStatistics& statistics);
  void derive(Results& results) const;

 private:
  struct LayerResult {
    int layer = 0;
    Matrix<Estimate> coverage, independent, paper;  // length x size
    std::map<int, std::pair<double, int>> overlap;  // by head: largest overlap, partner
    std::map<int, std::vector<QuerySets>> queries;  // by head, size
  };
  // Sums over the documents of a layer so far.
  struct LayerSums {
    std::vector<int> heads;
    std::vector<BatchMeans> coverage, independent;  // length x size
    std::vector<double> overlap;                    // of each head with each later one
    double overlap_weight = 0;
    std::vector<QuerySets> queries;  // head x size
    std::vector<double> documents;   // by size: those with queries to compare
  };
  struct Document;
  struct Unions;

  Unions unite(const Document& document, ThreadPool& pool) const;
  void write_overlap(const Document& document, ThreadPool& pool, ByteWriter& part) const;
  void write_queries(const Document& document, ByteWriter& part) const;

  Index lengths() const { return std::ssize(lengths_); }
  Index sizes() const { return std::ssize(sizes_); }
  Index place(Index length, Index size) const { return length * sizes() + size; }

  std::vector<int> lengths_, sizes_;
  std::vector<bool> documents_;  // by length: true if documents are the batches
  MetricHandle separability_;
  // These describe the present document:
  TopSets sets_;
  Index length_ = 0;
  std::vector<int> heads_;
  std::vector<Matrix<double>> ratios_;  // separability, by head: length x size

  LayerSums sums_;  // of the present layer
  std::vector<LayerResult> results_;
};

}  // namespace headgauge
