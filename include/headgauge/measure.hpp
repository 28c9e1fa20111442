// A measure turns one row of attention (a query and the keys it sees) into numbers. The engine
// (scan) does the rest for all of them alike: averages over rows, standard errors, lengths,
// position bins, documents. A measure therefore never sums over rows itself.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/normalize.hpp"

namespace headgauge {

class ThreadPool;
struct Results;

// One query row of one head.
struct Row {
  Index query = 0;  // 0-based position of the query
  KeyRange keys;    // from the first key that it sees to the last
  // The keys that it sees, ascending, where a mask hides some of `keys`; else empty.
  std::span<const std::uint32_t> positions;
  std::span<const float> logits;   // n, in key order
  std::span<const float> weights;  // n; empty unless some measure needs weights
  WeightSums sums;
  std::span<const std::uint32_t> top;  // which of the n are the min(n, top_n) largest weights,
                                       // largest first, ties by lower key; empty unless needed
  // The weights that the row would have without its mask, over the keys `unmasked_keys`; empty
  // unless there is a mask and some measure needs them.
  KeyRange unmasked_keys;
  std::span<const float> unmasked;
  Index n() const { return positions.empty() ? keys.size() : static_cast<Index>(positions.size()); }
  // The position of key number `i` of the n.
  Index key(Index i) const {
    return positions.empty() ? keys.begin + i
                             : static_cast<Index>(positions[static_cast<std::size_t>(i)]);
  }
};

// A block of query rows of one head, scored once and shared by all measures.
struct RowBlock {
  const HeadInput* head = nullptr;
  const Normalizer* normalizer = nullptr;
  std::span<const Row> rows;
  MatrixView<const float> weights;  // rows x (longest n), zero beyond each row's n; only where
                                    // all rows begin at key 0, no mask hides keys and a measure
                                    // needs weights
};

// Where observe() puts the values of a block: one row of cells a row of the block. A cell left
// alone is undefined for that row and does not enter the mean.
class RowSink {
 public:
  RowSink(MatrixView<double> values, Index first_cell) : values_(values), first_cell_(first_cell) {}
  void set(Index row, Index cell, double value) { values_(row, first_cell_ + cell) = value; }

 private:
  MatrixView<double> values_;
  Index first_cell_;
};

// Options of a scan that measures depend on; defaults are paper A's.
struct MeasureOptions {
  std::vector<int> top_n = {1, 5, 10, 20, 100};
  std::vector<double> temperatures;  // empty: logspace(-2, 1, 31)
  std::vector<double> epsilons = {1e-3, 1e-1, 10.0};
  enum class Direction { random, top2 } direction = Direction::random;
  int critical_max = 128;
  double critical_level = 0.01;
  bool unit_sphere = true;  // separability on x scaled to the unit sphere
  int expected_draws = 0;   // > 0: Monte-Carlo check of the expected distance
  std::uint64_t seed = 0;
  bool masked = false;  // a pattern hides keys: the group counterfactual
  // Sensitivity and Jacobian norms on every 16th row under any rule, as under rules that are not
  // softmax(c l); so that both can be compared.
  bool sampled_sensitivity = false;
  std::vector<int> lengths;  // resolved, ascending
};

struct MeasureNeeds {
  bool weights = false;   // Row::weights and RowBlock::weights
  int top = 0;            // size of Row::top
  bool unmasked = false;  // Row::unmasked
};

// Mean, standard error and number of rows of one cell.
struct CellStatistics {
  double mean = kUndefined;
  double standard_error = kUndefined;
  std::int64_t rows = 0;
};

// What the engine knows after a layer: the statistics of every row metric of every head.
class LayerStatistics {
 public:
  virtual ~LayerStatistics() = default;
  // `metric` is the name of a row metric, `inner` the flat index along its own dims.
  virtual CellStatistics at(std::string_view metric, Index head, Index length,
                            Index inner) const = 0;
  // The same over one position bin, for a metric that is kept by position.
  virtual CellStatistics at_position(std::string_view metric, Index head, Index bin,
                                     Index inner) const = 0;
  virtual Index heads() const = 0;
};

class Measure {
 public:
  virtual ~Measure() = default;
  // Row metrics take their cells in this order, each the product of the sizes of its `dims`.
  virtual const std::vector<MetricInfo>& metrics() const = 0;
  virtual MeasureNeeds needs() const = 0;
  // Size of the dimension `dim` for this measure's metrics ("top_n", "temperature", ...).
  virtual Index dim_size(std::string_view dim) const = 0;

  // Memory that the measure will hold at its peak for texts of this length, estimated.
  virtual std::size_t bytes(const SourceInfo& source, Index longest) const {
    static_cast<void>(source);
    static_cast<void>(longest);
    return 0;
  }

  // Called before the rows of a head are observed, from one thread; `slots` is the number of
  // threads that observe() will be called from. Shared state (a Gram matrix) is built here.
  virtual void begin_head(const HeadInput& head, ThreadPool& pool) {
    static_cast<void>(head);
    static_cast<void>(pool);
  }
  // Called for every block of the head, from several threads; `slot` names the workspace.
  virtual void observe(const RowBlock& block, int slot, RowSink& sink) = 0;
  // Called when all heads and documents of a layer are done.
  virtual void end_layer(int layer, const LayerStatistics& statistics, ThreadPool& pool) {
    static_cast<void>(layer);
    static_cast<void>(statistics);
    static_cast<void>(pool);
  }
  // Called once at the end: adds the derived metrics. `layers` lists the layers that were
  // measured, in the order of coords.layer, with their statistics.
  virtual void derive(std::span<const LayerStatistics* const> layers, Results& results) {
    static_cast<void>(layers);
    static_cast<void>(results);
  }
};

// Every measure of the named groups ("weights", "distance", ...; empty: all) for this source.
// Groups that the source cannot serve (no x) are left out. Throws UsageError for unknown groups.
std::vector<std::unique_ptr<Measure>> make_measures(std::span<const std::string> groups,
                                                    const MeasureOptions& options,
                                                    const SourceInfo& source, int slots);

}  // namespace headgauge
