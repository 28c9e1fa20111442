// A measure turns one row of attention (a query and the keys that it sees) into numbers. The scan
// does the rest for all measures alike: averages over rows, standard errors, lengths, position
// bins, documents. A measure therefore never sums over rows itself.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headgauge/array.hpp"
#include "headgauge/base.hpp"
#include "headgauge/bytes.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"

namespace headgauge {

struct Results;

// Up to 16 neighbouring rows of one position bin. A measure that is too costly for all rows draws
// one of each group, which then stands for the group (RowSink::set).
struct RowGroup {
  Index first = 0;  // the query of its first row
  Index rows = 1;
  Index place = 0;  // of the row in its group, from 0
};

// One query row of one head.
struct Row {
  Index query = 0;  // 0-based position of the query
  RowGroup group;
  KeyRange keys;  // from the first key that it sees to the last
  // The keys that it sees, ascending, where a mask hides some of `keys`; else empty.
  std::span<const std::uint32_t> positions;
  std::span<const float> logits;   // n, in key order
  std::span<const float> weights;  // n; empty unless some measure needs weights
  WeightSums sums;
  std::span<const std::uint32_t> top;    // which of the n are the min(n, top_n) largest weights,
                                         // largest first, ties by lower key; empty unless needed
  std::span<const std::uint32_t> sinks;  // which of the n are sinks of the head (find_sinks()),
                                         // ascending; empty unless needed
  // The weights that the row has without what the scan changes (MeasureOptions::changed), or what
  // the source was told to change (HeadInput::own), over the keys `original_keys`; empty unless
  // some measure needs them.
  KeyRange original_keys;
  std::span<const float> original;
  // Why what a measure sets of it is left out.
  enum class LeftOut {
    no,
    sees_no_key,     // all of its scores are -Inf
    beyond_float32,  // the squares of its weights are
  };
  LeftOut left_out = LeftOut::no;
  Index n() const { return positions.empty() ? keys.size() : std::ssize(positions); }
  // The position of key number `i` of the n.
  Index key(Index i) const { return positions.empty() ? keys.begin + i : positions[i]; }
};

// A block of query rows of one head, scored once and shared by all measures.
struct RowBlock {
  const HeadInput* head = nullptr;
  const Normalizer* normalizer = nullptr;  // what the head is measured under
  std::span<const Row> rows;
  Index size() const { return std::ssize(rows); }
};

// Where the values of one metric stand among all values of a row. A measure gets one for each
// metric that it declares and hands it on. Empty for derived metrics, which have no values of rows,
// and for metrics that were never declared.
struct MetricHandle {
  Index first = -1;
  Index count = 0;  // the product of the sizes of the metric's own dims
  explicit operator bool() const { return first >= 0; }
};

// Takes the declarations of a measure.
class MetricRegistry {
 public:
  virtual ~MetricRegistry() = default;
  // Names a dim of the metrics that follow, and its entries: numbers (set sizes, temperatures) or
  // labels. Not for layer, head, length and position, which the scan adds itself. Throws UsageError
  // where the dim is there with other entries.
  virtual void coord(std::string_view dim, Coordinate entries) = 0;
  // Adds a metric. Throws UsageError where there is one of that name, or a dim of row values that
  // coord() did not name.
  virtual MetricHandle add(const MetricInfo& metric) = 0;
  // Adds a metric of headgauge's own, as the catalogue declares it.
  MetricHandle add(std::string_view name) { return add(metric_info(name)); }
};

// Where observe() puts the values of a block of rows. A value that is not set is undefined for that
// row and does not enter the mean.
class RowSink {
 public:
  // `values`: rows of the block x values of a row, all of them undefined (NaN). `stand_for`, of the
  // same shape, takes how many rows each value stands for.
  RowSink(MatrixView<double> values, MatrixView<double> stand_for)
      : values_(values), stand_for_(stand_for) {}
  // Sets the value of row number `row` of the block, at the flat index `inner` along the metric's
  // own dims (row-major, as MetricInfo::dims). Does nothing for an empty handle. A row that was
  // drawn from several stands for all of them: `rows`, 1 over the probability of its draw, is its
  // weight in the means.
  void set(Index row, MetricHandle metric, Index inner, double value, double rows = 1) {
    if (!metric) return;
    assert(row >= 0 && row < values_.rows() && inner >= 0 && inner < metric.count);
    values_(row, metric.first + inner) = value;
    stand_for_(row, metric.first + inner) = rows;
  }
  void set(Index row, MetricHandle metric, double value) { set(row, metric, 0, value); }

 private:
  MatrixView<double> values_, stand_for_;
};

// Options of a scan that measures depend on; defaults are paper A's.
struct MeasureOptions {
  std::vector<int> top_n = {1, 5, 10, 20, 100};
  // Shares of the keys of a row, between 0 and 1: what the group proportion selects. Empty: the
  // group is left out, since half of the keys cost as much as all other groups together.
  std::vector<double> top_share;
  std::vector<double> temperatures;  // empty: logspace(-2, 1, 31)
  std::vector<double> epsilons = {1e-3, 1e-1, 10.0};
  enum class Direction { random, top2 } direction = Direction::random;
  // The groups distance, separability, coverage, proportion and dispersion see each row as if the
  // sinks of its head were hidden (docs/mathematics.md 7g).
  bool beyond_sinks = false;
  int critical_max = 128;
  double critical_level = 0.01;
  bool unit_sphere = true;  // separability on x scaled to the unit sphere
  int expected_draws = 0;   // > 0: Monte-Carlo check of the expected distance
  std::uint64_t seed = 0;
  // What the scan changes, which is what the group counterfactual is about: a normalizer in place
  // of the model's, or a pattern that hides keys. A scan with both is set against one without the
  // pattern.
  enum class Changed { nothing, normalizer, pattern } changed = Changed::nothing;
  // Sensitivity on the same drawn rows under any normalizer, as under those that are not
  // softmax(c l), so that the draw is no difference between them.
  bool sampled_sensitivity = false;
  std::vector<int> lengths;  // resolved, ascending
};

struct MeasureNeeds {
  bool weights = false;       // Row::weights
  int top = 0;                // size of Row::top
  bool sinks = false;         // Row::sinks
  bool beyond_sinks = false;  // rows, and a head, that a mask hides the sinks from
  bool original = false;      // Row::original
  bool changes = false;       // Row::original, of the heads alone that something changes
};

// The means of row values of one head over the rows of one document.
class HeadMeans {
 public:
  virtual ~HeadMeans() = default;
  // Over the rows of number `length` of the lengths; `inner` as RowSink::set() takes it. NaN where
  // the document is shorter, or the value is undefined in all rows.
  virtual double at(MetricHandle metric, Index length, Index inner) const = 0;
};

// The statistics of every metric of row values of every head of a layer, known when all its rows
// have been observed.
class LayerStatistics {
 public:
  virtual ~LayerStatistics() = default;
  // Over the rows of number `length` of the lengths; `inner` as RowSink::set() takes it.
  virtual Estimate at(MetricHandle metric, Index head, Index length, Index inner) const = 0;
  // Over the rows of one position bin, for a metric that is kept by position.
  virtual Estimate at_position(MetricHandle metric, Index head, Index bin, Index inner) const = 0;
  virtual Index heads() const = 0;
};

// What a measure must have: declare(), needs() and observe(). The scan calls, in this order,
//   declare(), needs(), bytes()                            once;
//   begin_head(), then observe() for its blocks, end_head()   for every head of a document;
//   write_part(), read_part()                              when the heads of the document are done;
//   end_layer()                                            when the documents of a layer are done;
//   derive()                                               once, at the end.
// Another process may have called what comes before read_part(), which gets what it wrote.
// observe() is called from several threads at the same time, all others from one.
class Measure {
 public:
  virtual ~Measure() = default;
  // Names the dims of its metrics and adds the metrics; keeps the handles that it gets.
  virtual void declare(MetricRegistry& metrics) = 0;
  virtual MeasureNeeds needs() const = 0;

  // Estimates the memory that the measure holds at its peak, in bytes, for texts of `longest`
  // tokens.
  virtual std::size_t bytes(const SourceInfo& source, Index longest) const {
    static_cast<void>(source);
    static_cast<void>(longest);
    return 0;
  }

  // Builds what all rows of a head share (a Gram matrix), on the threads of `pool`.
  virtual void begin_head(const HeadInput& head, ThreadPool& pool) {
    static_cast<void>(head);
    static_cast<void>(pool);
  }
  // Sets the values of the rows of a block. `slot`, from 0 to ThreadPool::threads() - 1, names a
  // workspace that no other call uses at the same time.
  virtual void observe(const RowBlock& block, int slot, RowSink& sink) = 0;
  // All rows of the head were observed; `means` are over them.
  virtual void end_head(const HeadInput& head, const HeadMeans& means) {
    static_cast<void>(head);
    static_cast<void>(means);
  }
  // Writes what it keeps of the heads of a document besides values of rows, and forgets it. For
  // measures that keep something until the end of a layer, or of the scan.
  virtual void write_part(int document, ThreadPool& pool, ByteWriter& part) {
    static_cast<void>(document);
    static_cast<void>(pool);
    static_cast<void>(part);
  }
  // Adds what write_part() wrote. The documents of a layer come in their order.
  virtual void read_part(int document, ByteReader& part) {
    static_cast<void>(document);
    static_cast<void>(part);
  }
  // Computes what needs the means of all heads of a layer.
  virtual void end_layer(int layer, const LayerStatistics& statistics, ThreadPool& pool) {
    static_cast<void>(layer);
    static_cast<void>(statistics);
    static_cast<void>(pool);
  }
  // Adds the derived metrics to the results. `layers` has the statistics of the layers that were
  // measured, in the order of the coordinate "layer".
  virtual void derive(std::span<const LayerStatistics* const> layers, Results& results) {
    static_cast<void>(layers);
    static_cast<void>(results);
  }
};

// Whether a group can be measured: x and the next token's prediction come from the source, patterns
// from the options.
bool can_measure(const MetricGroup& group, const MeasureOptions& options, const SourceInfo& source);

// What the measures declare, in order, hidden and derived metrics too.
std::vector<MetricInfo> declared_metrics(std::span<const std::unique_ptr<Measure>> measures);

// Makes every measure of the named groups ("weights", "distance", ...; empty: all) for this source,
// for observe() from `slots` threads. Leaves out groups that cannot be measured. Throws UsageError
// for unknown groups.
std::vector<std::unique_ptr<Measure>> make_measures(std::span<const std::string> groups,
                                                    const MeasureOptions& options,
                                                    const SourceInfo& source, int slots);

}  // namespace headgauge
