#include "measures/selection_measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "headgauge/metric_names.hpp"
#include "headgauge/results.hpp"
#include "measures/coverage.hpp"
#include "measures/critical.hpp"
#include "measures/distance_rows.hpp"
#include "measures/gram.hpp"
#include "measures/key_moments.hpp"
#include "measures/selection_sums.hpp"
#include "measures/separability.hpp"
#include "measures/separability_nulls.hpp"

namespace headgauge {
namespace {

constexpr Index kMasked = -1;  // in place of a window
using Keys = MeasureNeeds::Keys;

int critical_depth(const MeasureOptions& options) {
  const int longest = options.lengths.empty() ? options.critical_max + 1 : options.lengths.back();
  return std::max(0, std::min(options.critical_max, longest - 1));
}

// Sorts the values and removes duplicates.
template <class T>
std::vector<T> distinct(std::vector<T> values) {
  std::ranges::sort(values);
  const auto repeated = std::unique(values.begin(), values.end());
  values.erase(repeated, values.end());
  return values;
}

SelectionRequest make_plan(const MeasureOptions& options, SelectionGroups groups) {
  SelectionRequest plan;
  if (!options.lengths.empty()) plan.longest = std::max(options.lengths.back(), 2);
  if (groups.proportion) {
    refuse_if<UsageError>(options.lengths.empty(), "MeasureOptions::top_share", "lengths too",
                          "none", "");
    plan.shares = distinct(options.top_share);
    plan.bounds = false;
    plan.unit_sphere = options.unit_sphere;
    plan.seed = options.seed;
    return plan;
  }
  plan.sizes = distinct(options.top_n);
  plan.distance = groups.distance;
  plan.critical = groups.distance ? critical_depth(options) : 0;
  plan.separability = groups.separability || groups.coverage;
  plan.bounds = groups.keys == Keys::all;
  plan.unit_sphere = options.unit_sphere;
  plan.seed = options.seed;
  return plan;
}

// The metrics of rows in the separability group; all but the first are empty if only coverage is
// wanted.
struct SeparabilityMetrics {
  MetricHandle separability, lower, model_lower, model_upper, lower_paper, upper_paper;
  MetricHandle mean_cosine, equal_pairs;
  SeparabilityNulls::Metrics nulls;

  void declare(MetricRegistry& metrics) {
    separability = metrics.add(metric::separability_with_sinks);
    lower = metrics.add(metric::separability_lower);
    model_lower = metrics.add(metric::separability_model_lower);
    model_upper = metrics.add(metric::separability_model_upper);
    lower_paper = metrics.add(metric::separability_lower_paper);
    upper_paper = metrics.add(metric::separability_upper_paper);
    nulls.any.value = metrics.add(metric::separability_null_with_sinks);
    nulls.any.excess = metrics.add(metric::separability_excess_with_sinks);
    nulls.local.value = metrics.add(metric::separability_null_local);
    nulls.local.excess = metrics.add(metric::separability_excess_local);
    nulls.sphere.value = metrics.add(metric::separability_sphere);
    nulls.any.lower = metrics.add(metric::separability_null_lower);
    mean_cosine = metrics.add(metric::mean_cosine);
  }
  void declare_on(Keys keys, MetricRegistry& metrics) {
    if (keys == Keys::distinct) {
      nulls.any.excess = metrics.add(metric::separability_excess_distinct);
      return;
    }
    separability = metrics.add(metric::separability);
    nulls.any.value = metrics.add(metric::separability_null);
    nulls.any.excess = metrics.add(metric::separability_excess);
    equal_pairs = metrics.add(metric::equal_key_pairs);
  }
  void declare_hidden(MetricRegistry& metrics) {
    MetricInfo hidden = metric_info(metric::separability_with_sinks);
    hidden.kind = MetricKind::hidden;
    hidden.by_position = false;
    separability = metrics.add(hidden);
  }
};

class SelectionMeasure : public Measure {
 public:
  SelectionMeasure(const MeasureOptions& options, const SourceInfo& source, SelectionGroups groups,
                   int slots, std::size_t gram_limit, std::shared_ptr<SharedGram> shared);

  void declare(MetricRegistry& metrics) override;
  MeasureNeeds needs() const override;
  std::size_t bytes(const SourceInfo& source, Index longest) const override;
  void begin_head(const HeadInput& head, ThreadPool& pool) override;
  void observe(const RowBlock& block, int slot, RowSink& sink) override;
  void end_head(const HeadInput& head, const HeadMeans& means) override {
    if (coverage_) coverage_->end_head(head, means);
  }
  void write_part(int, ThreadPool& pool, ByteWriter& part) override {
    part.put(left_out_);
    if (coverage_) coverage_->write_part(pool, part);
  }
  void read_part(int, ByteReader& part) override {
    left_out_ = part.take<bool>() || left_out_;
    if (coverage_) coverage_->read_part(part);
  }
  void end_layer(int layer, const LayerStatistics& statistics, ThreadPool&) override {
    if (coverage_) coverage_->end_layer(layer, statistics);
  }
  void derive(std::span<const LayerStatistics* const> layers, Results& results) override;

 private:
  struct Workspace {
    SelectionBlock block;
    SelectionSums sums;
    DistanceRows distance;
    Separator separator;
    ClosestPair closest;
    Matrix<int> distinguishable;  // rows x sizes
    SeparabilityNulls nulls;
    std::vector<PrefixSums> prefixes;
    std::vector<int> copies;  // by row of the Gram matrix
  };

  void use_vectors(const HeadInput& head, Index length, ThreadPool& pool);
  void use_sphere(Index length, ThreadPool& pool);
  std::span<const double> closest_keys(const Visibility& visibility, ThreadPool& pool);
  void use_moments(const Visibility& visibility);
  void tell_left_out(Results& results) const;
  void measure_separability(const RowBlock& rows, int slot, RowSink& sink);
  double equal_pairs(const Row& row, std::vector<int>& copies) const;
  // Return M and delta^2 of Assumption 2 for a row.
  double largest_norm(const SelectionBlock::Line& line) const;
  double closest_pair(const RowBlock& rows, const Row& row, ClosestPair& search) const;

  MeasureOptions options_;
  SelectionGroups groups_;
  std::shared_ptr<SharedGram> shared_;
  std::size_t gram_limit_;
  SelectionRequest plan_;
  DistanceMetrics distance_;
  SeparabilityMetrics separability_;

  // The vectors that the present head is measured against.
  int number_ = 0;  // of `gram_` in `shared_`
  Index length_ = 0;
  const Gram* gram_ = nullptr;
  CrossDistance cross_;
  Matrix<float> points_;  // of the sphere
  std::unique_ptr<Gram> sphere_;
  std::map<Index, std::vector<double>> closest_;  // by window
  std::vector<double> nearest_;  // from nearest_positions(), once a head has a mask
  std::map<Index, std::vector<KeyMoments>> moments_;  // by window, or kMasked
  SelectionSpace space_;
  NullSpaces nulls_;
  bool left_out_ = false;  // some Gram matrix did not fit

  std::vector<Workspace> workspaces_;
  std::optional<Coverage> coverage_;
};

SelectionMeasure::SelectionMeasure(const MeasureOptions& options, const SourceInfo& source,
                                   SelectionGroups groups, int slots, std::size_t gram_limit,
                                   std::shared_ptr<SharedGram> shared)
    : options_(options),
      groups_(groups),
      shared_(std::move(shared)),
      gram_limit_(gram_limit),
      plan_(make_plan(options, groups)),
      workspaces_(std::max(slots, 1)) {
  nulls_.plan = null_plan(plan_, plan_.unit_sphere);
  nulls_.sphere_plan = null_plan(plan_, true);
  nulls_.all = !groups_.proportion && groups_.keys == Keys::all;
  if (groups_.coverage) {
    coverage_.emplace(options_.lengths, plan_.fitting_sizes(), source.measured_lengths(), slots);
  }
}

void SelectionMeasure::declare(MetricRegistry& metrics) {
  if (groups_.proportion) {
    metrics.coord("top_share", plan_.shares);
    distance_.selected_mass = metrics.add(metric::selected_mass_at_share);
    distance_.margin = metrics.add(metric::margin_at_share);
    separability_.separability = metrics.add(metric::separability_at_share);
    separability_.nulls.any.excess = metrics.add(metric::separability_excess_at_share);
    return;
  }
  metrics.coord("top_n", std::vector<double>(plan_.sizes.begin(), plan_.sizes.end()));
  if (groups_.distance) {
    std::vector<double> sizes(plan_.critical);
    std::iota(sizes.begin(), sizes.end(), 1.0);
    metrics.coord("critical_size", std::move(sizes));
    distance_.declare(metrics);
  }
  if (groups_.keys != Keys::all) return separability_.declare_on(groups_.keys, metrics);
  if (groups_.separability) separability_.declare(metrics);
  if (!groups_.coverage) return;
  if (!groups_.separability) separability_.declare_hidden(metrics);
  coverage_->declare(metrics, separability_.separability);
}

MeasureNeeds SelectionMeasure::needs() const {
  int top = plan_.depth();
  if (groups_.coverage) top = std::max(top, TopSets::kDepth);
  const Keys own = options_.beyond_sinks ? Keys::beyond_sinks : Keys::all;
  return {.weights = true, .top = top, .keys = std::max(own, groups_.keys)};
}

void SelectionMeasure::begin_head(const HeadInput& head, ThreadPool& pool) {
  // Documents are read up to the longest length that fits.
  Index length = head.x.size();
  for (const int l : options_.lengths) {
    if (l <= head.length()) length = std::min<Index>(head.x.size(), l);
  }
  use_vectors(head, length, pool);
  space_ = {gram_, head.x, {}};
  if (groups_.separability) {
    nulls_.text = space_;
    if (nulls_.all) use_sphere(length, pool);
    if (plan_.bounds) {
      space_.closest = closest_keys(head.visibility, pool);
      use_moments(head.visibility);
    }
  }
  if (coverage_) coverage_->begin_head(head, length);
}

// Takes the Gram matrix of the head's vectors, and forgets what was derived from another one.
void SelectionMeasure::use_vectors(const HeadInput& head, Index length, ThreadPool& pool) {
  const int number = shared_->number_of(head.x, length);
  if (number != 0 && number == number_) return;
  cross_ = {};  // avoids having two in memory at once
  gram_ = &shared_->of(head.x, length, gram_limit_, pool);
  number_ = shared_->number_of(head.x, length);
  if (plan_.distance && plan_.bounds && gram_->has_products()) cross_ = CrossDistance(*gram_, pool);
  left_out_ = left_out_ || !gram_->has_products();
  closest_.clear();
  nearest_.clear();
  moments_.clear();
  length_ = length;
}

// Draws as many points as the longest text has positions, whichever text comes first.
void SelectionMeasure::use_sphere(Index length, ThreadPool& pool) {
  if (!options_.lengths.empty()) length = std::max<Index>(length, options_.lengths.back());
  if (sphere_ && sphere_->columns() == length && sphere_->dimension() == gram_->dimension()) return;
  sphere_.reset();
  points_ = sphere_points(options_.seed, gram_->dimension(), length, pool);
  Vectors z;
  z.rows = points_;
  sphere_ = std::make_unique<Gram>(z, length, gram_limit_, pool);
  nulls_.sphere = {sphere_.get(), z, {}};
}

// Returns the input of ClosestPair if the head has a mask.
std::span<const double> SelectionMeasure::closest_keys(const Visibility& visibility,
                                                       ThreadPool& pool) {
  if (visibility.mask() != nullptr) {
    if (nearest_.empty()) nearest_ = nearest_positions(*gram_, plan_.unit_sphere, pool);
    return nearest_;
  }
  const Index window = visibility.window();
  auto found = closest_.find(window);
  if (found == closest_.end()) {
    found = closest_.emplace(window, closest_pairs(*gram_, window, plan_.unit_sphere, pool)).first;
  }
  return found->second;
}

// Cosines are those of the unit sphere, and a mask that reads the logits has no keys without them.
void SelectionMeasure::use_moments(const Visibility& visibility) {
  nulls_.moments = {};
  const KeyMask* mask = visibility.mask();
  if (!plan_.unit_sphere || !gram_->has_products()) return;
  if (mask != nullptr && mask->needs_logits()) return;
  if (mask != nullptr) moments_.erase(kMasked);
  const Index window = mask != nullptr ? kMasked : visibility.window();
  auto found = moments_.find(window);
  if (found == moments_.end()) {
    found = moments_.emplace(window, key_moments(*gram_, visibility, length_)).first;
  }
  nulls_.moments = found->second;
}

void SelectionMeasure::observe(const RowBlock& block, int slot, RowSink& sink) {
  Workspace& work = workspaces_[slot];
  work.block.begin(block, space_, plan_);
  work.prefixes.clear();
  work.sums.gather(work.block, work.prefixes);
  if (groups_.separability) {
    work.nulls.begin(block, nulls_);
    work.nulls.gather(work.prefixes);
  }
  if (gram_->has_products()) sum_top_prefixes(gram_->products(), work.prefixes);
  work.sums.finish();
  if (plan_.distance) work.distance.measure(block, work.sums, cross_, distance_, sink);
  if (plan_.separability) measure_separability(block, slot, sink);
}

double SelectionMeasure::largest_norm(const SelectionBlock::Line& line) const {
  if (plan_.unit_sphere) return 1.0;
  double largest = 0.0;
  for (Index i = 0; i < line.n; ++i) {
    largest = std::max<double>(largest, line.norm[line.column(i)]);
  }
  return largest;
}

double SelectionMeasure::closest_pair(const RowBlock& rows, const Row& row,
                                      ClosestPair& search) const {
  if (rows.head->visibility.mask() == nullptr) return space_.closest[row.keys.end];
  return search.find(*gram_, space_.closest, row, plan_.unit_sphere);
}

// Returns the share of the pairs of a row's keys that have one vector.
double SelectionMeasure::equal_pairs(const Row& row, std::vector<int>& copies) const {
  copies.assign(gram_->rows(), 0);
  double equal = 0;
  for (Index i = 0; i < row.n(); ++i) equal += copies[gram_->row_of(row.key(i))]++;
  const auto n = static_cast<double>(row.n());
  return n > 1 ? 2 * equal / (n * (n - 1)) : kUndefined;
}

void SelectionMeasure::measure_separability(const RowBlock& rows, int slot, RowSink& sink) {
  Workspace& work = workspaces_[slot];
  const SeparabilityMetrics& metrics = separability_;
  Matrix<int>& distinguishable = work.distinguishable;
  if (distinguishable.rows() < rows.size()) {
    distinguishable = Matrix<int>(rows.size(), plan_.count());
  }
  for (Index r = 0; r < work.block.rows(); ++r) {
    const Row& row = rows.rows[r];
    const auto& line = work.block.line(r);
    if (coverage_) coverage_->sets().add_row(slot, row);
    work.separator.begin(work.sums, r, row, *rows.normalizer);
    if (!nulls_.moments.empty() && groups_.separability) {
      sink.set(r, metrics.mean_cosine, nulls_.moments[row.query].cosine);
    }
    if (metrics.equal_pairs) sink.set(r, metrics.equal_pairs, equal_pairs(row, work.copies));
    const bool bounded = groups_.separability && plan_.bounds && line.sizes > 0;
    const double largest = bounded ? largest_norm(line) : kUndefined;
    const double closest2 = bounded ? closest_pair(rows, row, work.closest) : kUndefined;
    for (int s = 0; s < line.sizes; ++s) {
      if (!plan_.stands_for(s, line.n)) continue;
      const auto count = static_cast<double>(work.block.sizes_of(r)[s]);
      const Separation found = work.separator.separate(s);
      distinguishable(r, s) = found.distinguishable;
      sink.set(r, metrics.separability, s, found.distinguishable / count);
      if (coverage_) coverage_->sets().add_distinguishable(slot, s, found.members);
      if (!bounded) continue;
      const SeparationBounds bounds = work.separator.bounds(s, found, largest, closest2);
      sink.set(r, metrics.lower, s, bounds.lower);
      sink.set(r, metrics.model_lower, s, bounds.model_lower);
      sink.set(r, metrics.model_upper, s, bounds.model_upper);
      sink.set(r, metrics.lower_paper, s, bounds.lower_paper);
      sink.set(r, metrics.upper_paper, s, bounds.upper_paper);
    }
  }
  if (groups_.separability) work.nulls.measure(distinguishable, metrics.nulls, sink);
}

void SelectionMeasure::derive(std::span<const LayerStatistics* const> layers, Results& results) {
  if (groups_.proportion || groups_.keys != Keys::all) return;
  if (groups_.distance) derive_critical(layers, distance_.critical, options_, results);
  if (left_out_) tell_left_out(results);
  if (coverage_) coverage_->derive(results);
}

void SelectionMeasure::tell_left_out(Results& results) const {
  std::vector<std::string> names;
  if (groups_.distance) names = {"critical N", metric::distance_bound_paper};
  if (groups_.separability) {
    names.insert(names.end(), {metric::separability_null_lower, metric::mean_cosine});
  }
  if (names.empty()) return;
  results.notices.push_back(fmt::format(
      "The products of all vectors x would not fit in memory. Left out: {}.{}",
      fmt::join(names, ", "),
      groups_.distance ? " distance_bound uses only the simpler of its two bounds." : ""));
}

std::size_t SelectionMeasure::bytes(const SourceInfo& source, Index longest) const {
  return selection_bytes(options_, source, groups_, longest, source.x_dim,
                         static_cast<int>(workspaces_.size()));
}

}  // namespace

std::size_t selection_bytes(const MeasureOptions& options, const SourceInfo& source,
                            SelectionGroups groups, Index longest, Index dimension, int slots) {
  const SelectionRequest plan = make_plan(options, groups);
  const Index sizes = plan.count();
  // All tokens are distinct in the worst case. Measures of other keys share the matrix.
  const bool apart = groups.keys != Keys::all;
  std::size_t bytes = apart ? 0 : Gram::bytes(longest, longest, dimension, kGramLimit);
  if (groups.separability && !groups.proportion && !apart) {
    bytes += Gram::bytes(longest, longest, dimension, kGramLimit);
    bytes += longest * dimension * sizeof(float);
  }
  if (plan.distance && plan.bounds) bytes += CrossDistance::bytes(longest, longest);
  // The columns of a block (weights, ranks, projections and stored sums), then the members of its
  // rows.
  const Index rows = std::clamp<Index>((Index{1} << 18) / std::max<Index>(longest, 1), 16, 64);
  const Index floats = rows * longest * (6 + sizes) +
                       rows * plan.depth() * (12 + 3 * sizes + 2 * (plan.critical > 0 ? 16 : 0));
  bytes += slots * floats * sizeof(float);
  if (groups.separability) bytes += slots * floats * sizeof(float);  // the nulls take less
  if (groups.coverage) {
    bytes += longest * source.heads * TopSets::bytes(plan.fitting_sizes());
  }
  return bytes;
}

std::unique_ptr<Measure> make_selection_measure(const MeasureOptions& options,
                                                const SourceInfo& source, SelectionGroups groups,
                                                int slots, std::size_t gram_limit,
                                                std::shared_ptr<SharedGram> shared) {
  if (shared == nullptr) shared = std::make_shared<SharedGram>();
  return std::make_unique<SelectionMeasure>(options, source, groups, slots, gram_limit,
                                            std::move(shared));
}

}  // namespace headgauge
