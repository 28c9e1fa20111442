#include "measures/selection_measure.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "measures/closest_pair.hpp"
#include "measures/coordinates.hpp"
#include "measures/coverage.hpp"
#include "measures/critical.hpp"
#include "measures/distance_rows.hpp"
#include "measures/gram.hpp"
#include "measures/selection_block.hpp"
#include "measures/selection_metrics.hpp"
#include "measures/separability.hpp"
#include "measures/sized_sink.hpp"

namespace headgauge {
namespace {

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

int critical_depth(const MeasureOptions& options) {
  const int longest = options.lengths.empty() ? options.critical_max + 1 : options.lengths.back();
  return std::max(0, std::min(options.critical_max, longest - 1));
}

SelectionPlan make_plan(const MeasureOptions& options, SelectionGroups groups) {
  SelectionPlan plan;
  plan.sizes = options.top_n;
  std::ranges::sort(plan.sizes);
  const auto repeated = std::unique(plan.sizes.begin(), plan.sizes.end());
  plan.sizes.erase(repeated, plan.sizes.end());
  plan.distance = groups.distance;
  plan.critical = groups.distance ? critical_depth(options) : 0;
  plan.separability = groups.separability || groups.coverage;
  plan.unit_sphere = options.unit_sphere;
  plan.draws = options.expected_draws;
  plan.seed = options.seed;
  return plan;
}

class SelectionMeasure : public Measure {
 public:
  SelectionMeasure(const MeasureOptions& options, SelectionGroups groups, int slots,
                   std::size_t gram_limit);

  const std::vector<MetricInfo>& metrics() const override { return metrics_; }
  MeasureNeeds needs() const override;
  Index dim_size(std::string_view dim) const override;
  std::size_t bytes(const SourceInfo& source, Index longest) const override;
  void begin_head(const HeadInput& head, ThreadPool& pool) override;
  void observe(const RowBlock& block, int slot, RowSink& sink) override;
  void end_layer(int layer, const LayerStatistics& statistics, ThreadPool& pool) override;
  void derive(std::span<const LayerStatistics* const> layers, Results& results) override;

 private:
  struct Workspace {
    SelectionBlock block;
    DistanceRows distance;
    Separator separator;
    ClosestPair closest;
  };
  // First cells of the row metrics of the separability group.
  struct SeparabilityCells {
    Index separability = 0, lower = 0, model_lower = 0, model_upper = 0;
    Index lower_paper = 0, upper_paper = 0, null = 0;
  };

  void number_cells();
  std::span<const double> closest_keys(const Visibility& visibility, ThreadPool& pool);
  void derive_sampled_error(std::span<const LayerStatistics* const> layers, Results& results) const;
  void measure_separability(const RowBlock& rows, int slot, SizedSink& sink);

  MeasureOptions options_;
  SelectionGroups groups_;
  std::size_t gram_limit_;
  SelectionPlan plan_;
  std::vector<MetricInfo> metrics_;
  DistanceCells distance_cells_;
  SeparabilityCells separability_cells_;
  std::vector<std::vector<Index>> places_;  // per size, where it stands in options.top_n

  // What the current head is measured against.
  std::uint64_t key_ = 0;
  Index length_ = 0;
  std::unique_ptr<Gram> gram_;
  CrossDistance cross_;
  std::unique_ptr<Gram> null_;
  std::map<Index, std::vector<double>> closest_;  // by window
  std::vector<double> nearest_;                   // of nearest_positions(), once a head has a mask
  SelectionSpace space_;
  bool left_out_ = false;  // some Gram matrix did not fit

  std::vector<Workspace> workspaces_;
  std::optional<Coverage> coverage_;
};

SelectionMeasure::SelectionMeasure(const MeasureOptions& options, SelectionGroups groups, int slots,
                                   std::size_t gram_limit)
    : options_(options),
      groups_(groups),
      gram_limit_(gram_limit),
      plan_(make_plan(options, groups)),
      metrics_(selection_metrics(options, groups)),
      workspaces_(at(std::max(slots, 1))) {
  number_cells();
  for (const int size : plan_.sizes) {
    auto& places = places_.emplace_back();
    for (std::size_t p = 0; p < options_.top_n.size(); ++p) {
      if (options_.top_n[p] == size) places.push_back(static_cast<Index>(p));
    }
  }
  if (groups_.coverage) coverage_.emplace(options_, plan_.sizes, slots);
}

void SelectionMeasure::number_cells() {
  std::map<std::string, Index> first;
  Index cells = 0;
  for (const MetricInfo& metric : metrics_) {
    if (metric.kind == MetricKind::derived) continue;
    first[metric.name] = cells;
    cells += dim_size(metric.dims.front());
  }
  const auto cell = [&](const char* name) {
    const auto found = first.find(name);
    return found == first.end() ? Index{-1} : found->second;
  };
  DistanceCells& d = distance_cells_;
  d.selected_mass = cell("selected_mass");
  d.distance = cell("distance");
  d.bound = cell("distance_bound");
  d.bound_paper = cell("distance_bound_paper");
  d.expected = cell("expected_distance");
  d.expected_upper = cell("expected_distance_upper");
  d.expected_context = cell("expected_distance_context");
  d.margin = cell("margin");
  d.sampled = cell("expected_distance_sampled");
  d.sampled_variance = cell("expected_distance_sampled_variance");
  d.distance_at_n = cell("distance_at_n");
  d.context_excess_at_n = cell("context_excess_at_n");
  SeparabilityCells& s = separability_cells_;
  s.separability = cell("separability");
  s.lower = cell("separability_lower");
  s.model_lower = cell("separability_model_lower");
  s.model_upper = cell("separability_model_upper");
  s.lower_paper = cell("separability_lower_paper");
  s.upper_paper = cell("separability_upper_paper");
  s.null = cell("separability_null");
}

MeasureNeeds SelectionMeasure::needs() const {
  int top = plan_.depth();
  if (groups_.coverage) top = std::max(top, Coverage::kDepth);
  return {true, top};
}

Index SelectionMeasure::dim_size(std::string_view dim) const {
  if (dim == "top_n") return static_cast<Index>(options_.top_n.size());
  if (dim == "critical_size") return plan_.critical;
  return 0;
}

void SelectionMeasure::begin_head(const HeadInput& head, ThreadPool& pool) {
  // Documents are read as far as the longest length that fits.
  Index length = head.x.size();
  for (const int l : options_.lengths) {
    if (l <= head.length()) length = std::min<Index>(head.x.size(), l);
  }
  if (!gram_ || key_ == 0 || head.x.key != key_ || length != length_) {
    cross_ = {};  // not two of them at once
    gram_.reset();
    gram_ = std::make_unique<Gram>(head.x, length, gram_limit_, pool);
    if (plan_.distance && gram_->has_products()) cross_ = CrossDistance(*gram_, pool);
    left_out_ = left_out_ || !gram_->has_products();
    closest_.clear();
    nearest_.clear();
    key_ = head.x.key;
    length_ = length;
  }
  space_ = {};
  space_.gram = gram_.get();
  space_.x = head.x;
  if (plan_.separability) {
    if (!null_ || null_->columns() < length || null_->dimension() != gram_->dimension()) {
      null_.reset();
      const Matrix<float> points = sphere_points(options_.seed, gram_->dimension(), length, pool);
      Vectors z;
      z.rows = points;
      null_ = std::make_unique<Gram>(z, length, gram_limit_, pool);
    }
    space_.null = null_.get();
    space_.closest = closest_keys(head.visibility, pool);
  }
  if (coverage_) coverage_->begin_head(head, length);
}

// Where there is a mask, what ClosestPair begins with.
std::span<const double> SelectionMeasure::closest_keys(const Visibility& visibility,
                                                       ThreadPool& pool) {
  if (!groups_.separability) return {};
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

void SelectionMeasure::observe(const RowBlock& block, int slot, RowSink& sink) {
  Workspace& work = workspaces_[at(slot)];
  SizedSink sized(sink, places_);
  work.block.begin(block, space_, plan_);
  work.block.sum_prefixes();
  if (plan_.distance) {
    work.distance.measure(block, work.block, space_, plan_, cross_, distance_cells_, sized);
  }
  if (plan_.separability) measure_separability(block, slot, sized);
}

void SelectionMeasure::measure_separability(const RowBlock& rows, int slot, SizedSink& sink) {
  Workspace& work = workspaces_[at(slot)];
  const SeparabilityCells& cells = separability_cells_;
  const bool is_signed = rows.normalizer->traits().is_signed;
  for (Index r = 0; r < work.block.rows(); ++r) {
    const Row& row = rows.rows[at(r)];
    const auto& line = work.block.line(r);
    if (coverage_) coverage_->begin_row(slot, row);
    work.separator.begin(work.block, r, row, *rows.normalizer, space_, plan_);
    double largest = 1.0;
    if (!plan_.unit_sphere) {
      largest = 0.0;
      for (Index i = 0; i < line.n; ++i) {
        largest = std::max<double>(largest, line.norm[at(line.column(i))]);
      }
    }
    double closest2 = kUndefined;
    if (groups_.separability && line.sizes > 0) {
      closest2 = rows.head->visibility.mask() == nullptr
                     ? space_.closest[at(row.keys.end)]
                     : work.closest.find(*gram_, space_.closest, row, plan_.unit_sphere);
    }
    for (int s = 0; s < line.sizes; ++s) {
      const auto count = static_cast<double>(plan_.sizes[at(s)]);
      const Separation found = work.separator.separate(PrefixKind::unit, s);
      sink.set(r, cells.separability, s, found.distinguishable / count);
      if (coverage_) coverage_->add_set(slot, s, found.members);
      if (!groups_.separability) continue;
      const SeparationBounds bounds = work.separator.bounds(s, found, largest, closest2, is_signed);
      sink.set(r, cells.lower, s, bounds.lower);
      sink.set(r, cells.model_lower, s, bounds.model_lower);
      sink.set(r, cells.model_upper, s, bounds.model_upper);
      sink.set(r, cells.lower_paper, s, bounds.lower_paper);
      sink.set(r, cells.upper_paper, s, bounds.upper_paper);
      const Separation blind = work.separator.separate(PrefixKind::null, s);
      sink.set(r, cells.null, s, blind.distinguishable / count);
    }
  }
}

void SelectionMeasure::end_layer(int layer, const LayerStatistics& statistics, ThreadPool& pool) {
  if (coverage_) coverage_->end_layer(layer, statistics, pool);
}

void SelectionMeasure::derive(std::span<const LayerStatistics* const> layers, Results& results) {
  if (groups_.distance) derive_critical(layers, options_, plan_.critical, results);
  if (groups_.distance && plan_.draws > 0) derive_sampled_error(layers, results);
  if (groups_.distance && left_out_) {
    std::string left_out = "critical N and distance_bound_paper are left out";
    if (plan_.draws > 0) {
      left_out =
          "critical N, distance_bound_paper and the check of the expected distance by "
          "MeasureOptions::expected_draws are left out";
    }
    results.notices.push_back("The products of all vectors x would not fit in memory: " + left_out +
                              ", and distance_bound is its simpler half.");
  }
  if (coverage_) coverage_->derive(results);
}

// The Monte-Carlo error of the mean: draws of different rows are independent.
void SelectionMeasure::derive_sampled_error(std::span<const LayerStatistics* const> layers,
                                            Results& results) const {
  const std::vector<int> heads = coordinate_numbers(results, "head");
  MetricArray& metric = results.add_metric("expected_distance_sampled_error",
                                           {"layer", "head", "length", "top_n"}, "1");
  std::size_t cell = 0;
  for (const LayerStatistics* layer : layers) {
    for (const int head : heads) {
      for (std::size_t length = 0; length < options_.lengths.size(); ++length) {
        for (std::size_t place = 0; place < options_.top_n.size(); ++place, ++cell) {
          const CellStatistics variance =
              layer->at("expected_distance_sampled_variance", head, static_cast<Index>(length),
                        static_cast<Index>(place));
          if (variance.rows == 0) continue;
          metric.values[cell] = std::sqrt(variance.mean / static_cast<double>(variance.rows));
        }
      }
    }
  }
}

std::size_t SelectionMeasure::bytes(const SourceInfo& source, Index longest) const {
  return selection_bytes(options_, source, groups_, longest, source.x_dim,
                         static_cast<int>(workspaces_.size()));
}

}  // namespace

std::size_t selection_bytes(const MeasureOptions& options, const SourceInfo& source,
                            SelectionGroups groups, Index longest, Index dimension, int slots) {
  const SelectionPlan plan = make_plan(options, groups);
  const auto sizes = static_cast<Index>(plan.sizes.size());
  // At worst all tokens are distinct.
  std::size_t bytes = Gram::bytes(longest, longest, dimension, kGramLimit);
  if (plan.separability) bytes += Gram::bytes(longest, longest, dimension, kGramLimit);
  if (plan.distance) bytes += CrossDistance::bytes(longest, longest);
  // Columns of a block: weights, ranks, projections and stored sums; then the members of its rows.
  const Index rows = std::clamp<Index>((Index{1} << 18) / std::max<Index>(longest, 1), 16, 64);
  const Index floats = rows * longest * (6 + sizes) +
                       rows * plan.depth() * (12 + 3 * sizes + 2 * (plan.critical > 0 ? 16 : 0));
  bytes += at(slots) * at(floats) * sizeof(float);
  if (groups.coverage) {
    Index tokens = 0;
    for (const Index document : source.documents) tokens += std::min(document, longest);
    bytes += at(tokens * source.heads) * Coverage::row_bytes(plan.sizes);
  }
  return bytes;
}

std::unique_ptr<Measure> make_selection_measure(const MeasureOptions& options,
                                                const SourceInfo& source, SelectionGroups groups,
                                                int slots, std::size_t gram_limit) {
  static_cast<void>(source);
  return std::make_unique<SelectionMeasure>(options, groups, slots, gram_limit);
}

}  // namespace headgauge
