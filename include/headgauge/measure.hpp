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
// one row of each group, which then represents the group (RowSink::set).
struct RowGroup {
  Index first = 0;  // query of the group's first row
  Index rows = 1;
  Index place = 0;  // index of the row in its group, from 0
};

// One query row of one head.
struct Row {
  Index query = 0;  // 0-based position of the query
  RowGroup group;
  KeyRange keys;  // from the first key that the query sees to the last
  // The keys that the query sees, ascending, if a mask hides some of `keys`; else empty.
  std::span<const std::uint32_t> positions;
  std::span<const float> logits;   // n, in key order
  std::span<const float> weights;  // n, in key order; empty unless some measure needs them
  WeightSums sums;
  std::span<const std::uint32_t> top;    // numbers of the min(n, top_n) keys of largest weight,
                                         // largest first, ties by lower key; empty unless needed
  std::span<const std::uint32_t> sinks;  // numbers of the keys that are sinks (find_sinks()),
                                         // ascending; empty unless needed
  // The weights over the keys `original_keys` without what the scan changes
  // (MeasureOptions::changed) or what the source was told to change (HeadInput::own); empty unless
  // some measure needs them.
  KeyRange original_keys;
  std::span<const float> original;
  // The reason why the values of this row are left out.
  enum class LeftOut {
    no,
    sees_no_key,     // all of its scores are -Inf
    beyond_float32,  // the squares of its weights leave float32
  };
  LeftOut left_out = LeftOut::no;
  Index n() const { return positions.empty() ? keys.size() : std::ssize(positions); }
  // Returns the position of the row's key number `i`.
  Index key(Index i) const { return positions.empty() ? keys.begin + i : positions[i]; }
};

// A block of query rows of one head, scored once and shared by all measures.
struct RowBlock {
  const HeadInput* head = nullptr;
  const Normalizer* normalizer = nullptr;  // the normalizer that the head is measured under
  std::span<const Row> rows;
  Index size() const { return std::ssize(rows); }
};

// The place of one metric's values among all values of a row. A measure gets a handle for each
// metric that it declares. It is empty for derived metrics, which have no values of rows, and for
// metrics that were not declared.
struct MetricHandle {
  Index first = -1;
  Index count = 0;  // product of the sizes of the metric's own dims
  explicit operator bool() const { return first >= 0; }
};

// Collects the declarations of a measure.
class MetricRegistry {
 public:
  virtual ~MetricRegistry() = default;
  // Names a dim of the metrics that follow and its entries: numbers (set sizes, temperatures) or
  // labels. The scan itself adds layer, head, length and position. Throws UsageError if the dim
  // exists with other entries.
  virtual void coord(std::string_view dim, Coordinate entries) = 0;
  // Adds a metric. Throws UsageError if there is a metric of that name, or if it has a dim of row
  // values that coord() did not name.
  virtual MetricHandle add(const MetricInfo& metric) = 0;
  // Adds one of headgauge's own metrics, as the catalogue declares it.
  MetricHandle add(std::string_view name) { return add(metric_info(name)); }
};

// Receives the values that observe() computes for a block of rows. A value that is not set is
// undefined for that row and does not enter the mean.
class RowSink {
 public:
  // `values` has a row for each row of the block and a column for each value of a row, all
  // undefined (NaN) at first. `stand_for` has the same shape and receives how many rows each value
  // represents.
  RowSink(MatrixView<double> values, MatrixView<double> stand_for)
      : values_(values), stand_for_(stand_for) {}
  // Sets the value of row number `row` of the block at the flat index `inner` along the metric's
  // own dims (row-major, in the order of MetricInfo::dims). Does nothing for an empty handle. If
  // the row was drawn from several, `rows` is the inverse of its probability and its weight in the
  // means.
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

// The options of a scan that measures depend on; the defaults are those of paper A.
struct MeasureOptions {
  std::vector<int> top_n = {1, 5, 10, 20, 100};
  // Shares of a row's keys, between 0 and 1, that the group "proportion" selects. If empty, the
  // group is left out: half of the keys cost as much as all other groups together.
  std::vector<double> top_share;
  std::vector<double> temperatures;  // if empty, logspace(-2, 1, 31)
  std::vector<double> epsilons = {1e-3, 1e-1, 10.0};
  // True if the groups distance, separability, coverage, proportion and dispersion treat the sinks
  // of a head as hidden (docs/mathematics.md 7g).
  bool beyond_sinks = false;
  int critical_max = 128;
  double critical_level = 0.01;
  bool unit_sphere = true;  // measure separability on x scaled to the unit sphere
  std::uint64_t seed = 0;
  // The scan's change, which the group "counterfactual" measures: the normalizer, or a pattern that
  // hides keys. A scan with both is compared with one without the pattern.
  enum class Changed { nothing, normalizer, pattern } changed = Changed::nothing;
  // Measure sensitivity on the same drawn rows under every normalizer, as is always done for those
  // other than softmax(c l). The draw then causes no difference between normalizers.
  bool sampled_sensitivity = false;
  std::vector<int> lengths;  // filled in, ascending
};

struct MeasureNeeds {
  bool weights = false;   // Row::weights
  int top = 0;            // size of Row::top
  bool sinks = false;     // Row::sinks
  bool original = false;  // Row::original
  bool changes = false;   // Row::original, only for heads that an intervention changes
  // The keys of rows and head: all of them; all but the sinks of the head, which a mask hides; or
  // also one for each vector x, the one with the largest logit of those with that vector.
  enum class Keys { all, beyond_sinks, distinct } keys = Keys::all;
};

// The means of row values of one head over the rows of one document.
class HeadMeans {
 public:
  virtual ~HeadMeans() = default;
  // Returns the mean over the rows up to a length, `length` being its index among the lengths;
  // `inner` as in RowSink::set(). NaN if the document is shorter, or if the value is undefined in
  // all rows.
  virtual double at(MetricHandle metric, Index length, Index inner) const = 0;
};

// The statistics of every metric of row values of every head of a layer, available when all its
// rows have been observed.
class LayerStatistics {
 public:
  virtual ~LayerStatistics() = default;
  // Returns the estimate over the rows up to a length, `length` being its index among the lengths;
  // `inner` as in RowSink::set().
  virtual Estimate at(MetricHandle metric, Index head, Index length, Index inner) const = 0;
  // Returns the estimate over the rows of one position bin, for a metric that is kept by position.
  virtual Estimate at_position(MetricHandle metric, Index head, Index bin, Index inner) const = 0;
  virtual Index heads() const = 0;
};

// The interface of a measure, which must implement declare(), needs() and observe(). The scan
// calls, in this order,
//   declare(), needs(), bytes()                              once;
//   begin_head(), then observe() for its blocks, end_head()  for every head of a document;
//   write_part(), read_part()                                after the heads of the document;
//   end_layer()                                              after the documents of a layer;
//   derive()                                                 once, at the end.
// The calls before read_part() may happen in another process; read_part() gets what write_part()
// wrote there. observe() is called from several threads at the same time, all others from one.
class Measure {
 public:
  virtual ~Measure() = default;
  // Names the dims of its metrics, adds the metrics and keeps the handles.
  virtual void declare(MetricRegistry& metrics) = 0;
  virtual MeasureNeeds needs() const = 0;

  // Estimates the measure's peak memory in bytes for texts of `longest` tokens.
  virtual std::size_t bytes(const SourceInfo& source, Index longest) const {
    static_cast<void>(source);
    static_cast<void>(longest);
    return 0;
  }

  // Builds the data that all rows of a head share (a Gram matrix) on the threads of `pool`.
  virtual void begin_head(const HeadInput& head, ThreadPool& pool) {
    static_cast<void>(head);
    static_cast<void>(pool);
  }
  // Sets the values of the rows of a block. `slot`, from 0 to ThreadPool::threads() - 1, names a
  // workspace that no other call uses at the same time.
  virtual void observe(const RowBlock& block, int slot, RowSink& sink) = 0;
  // Called after all rows of the head; `means` are over these rows.
  virtual void end_head(const HeadInput& head, const HeadMeans& means) {
    static_cast<void>(head);
    static_cast<void>(means);
  }
  // Writes what the measure keeps about the heads of a document besides row values, then clears it.
  // For measures that keep data until the end of a layer or of the scan.
  virtual void write_part(int document, ThreadPool& pool, ByteWriter& part) {
    static_cast<void>(document);
    static_cast<void>(pool);
    static_cast<void>(part);
  }
  // Adds what write_part() wrote. Called in the order of the documents of a layer.
  virtual void read_part(int document, ByteReader& part) {
    static_cast<void>(document);
    static_cast<void>(part);
  }
  // Computes values that need the means of all heads of a layer.
  virtual void end_layer(int layer, const LayerStatistics& statistics, ThreadPool& pool) {
    static_cast<void>(layer);
    static_cast<void>(statistics);
    static_cast<void>(pool);
  }
  // Adds the derived metrics to the results. `layers` has the statistics of the measured layers, in
  // the order of the coordinate "layer".
  virtual void derive(std::span<const LayerStatistics* const> layers, Results& results) {
    static_cast<void>(layers);
    static_cast<void>(results);
  }
};

// Returns whether a group can be measured. Some groups need x or the next token's prediction from
// the source, others a pattern or other settings in the options.
bool can_measure(const MetricGroup& group, const MeasureOptions& options, const SourceInfo& source);
// Returns whether there are predictions, and the model makes them with its heads as they are
// measured: under the scan's change, if it has one.
bool has_predictions(const MeasureOptions& options, const SourceInfo& source);

// Returns all metrics that the measures declare, in order, including hidden and derived ones.
std::vector<MetricInfo> declared_metrics(std::span<const std::unique_ptr<Measure>> measures);

// Makes every measure of the named groups ("weights", "distance", ...; empty: all) for this source,
// for observe() from `slots` threads. Leaves out groups that cannot be measured. Throws UsageError
// for unknown groups.
std::vector<std::unique_ptr<Measure>> make_measures(std::span<const std::string> groups,
                                                    const MeasureOptions& options,
                                                    const SourceInfo& source, int slots);

}  // namespace headgauge
