#include "capacity/selection_measure.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "capacity/cooperation.hpp"
#include "capacity/critical.hpp"
#include "capacity/distance.hpp"
#include "capacity/expected.hpp"
#include "capacity/gram.hpp"
#include "capacity/selection_block.hpp"
#include "capacity/selection_metrics.hpp"
#include "capacity/separability.hpp"

namespace headgauge {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();

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
  const auto repeated = std::ranges::unique(plan.sizes);
  plan.sizes.erase(repeated.begin(), repeated.end());
  plan.distance = groups.distance;
  plan.critical = groups.distance ? critical_depth(options) : 0;
  plan.separability = groups.separability || groups.cooperation;
  plan.unit_sphere = options.unit_sphere;
  return plan;
}

class SelectionMeasure : public Measure {
 public:
  SelectionMeasure(const MeasureOptions& options, SelectionGroups groups, int slots);

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
    Separator separator;
    CrossDistance::Scratch scratch;
    AlignedVector<float> gathered;    // rows x Gram rows: weights by distinct vector
    AlignedVector<float> projection;  // rows x columns: <x_j, Y> / |x_j|
    AlignedVector<float> set_square;  // rows x critical
    AlignedVector<float> distance;    // rows x critical x lanes
    AlignedVector<float> context;
    std::vector<double> total_square;  // rows
    std::vector<DistanceWalk> walks;
    std::vector<std::uint8_t> flags;
  };

  // The cell of a metric at number `inner` of its own dimension.
  Index cell(std::string_view metric, Index inner = 0) const {
    return cells_.find(metric)->second + inner;
  }
  // Sets a metric of top_n in every place of options.top_n that holds size number `size`.
  void set(RowSink& sink, Index row, Index first_cell, int size, double value) const;

  void project(const RowBlock& block, Workspace& work) const;
  void measure_distance(const RowBlock& block, Workspace& work, RowSink& sink) const;
  void measure_critical(const RowBlock& block, Workspace& work, RowSink& sink) const;
  void measure_separability(const RowBlock& block, int slot, Workspace& work, RowSink& sink);

  MeasureOptions options_;
  SelectionGroups groups_;
  SelectionPlan plan_;
  std::vector<MetricInfo> metrics_;
  std::map<std::string, Index, std::less<>> cells_;
  std::vector<std::vector<Index>> places_;  // per size, where it stands in options.top_n

  // What the current head is measured against.
  std::uint64_t key_ = 0;
  Index length_ = 0;
  std::unique_ptr<Gram> gram_;
  CrossDistance cross_;
  std::unique_ptr<Gram> null_;
  std::map<Index, std::vector<double>> closest_;  // by window
  SelectionSpace space_;

  std::vector<Workspace> workspaces_;
  std::optional<Cooperation> cooperation_;
};

SelectionMeasure::SelectionMeasure(const MeasureOptions& options, SelectionGroups groups, int slots)
    : options_(options),
      groups_(groups),
      plan_(make_plan(options, groups)),
      metrics_(selection_metrics(options, groups)),
      workspaces_(at(std::max(slots, 1))) {
  Index cells = 0;
  for (const MetricInfo& metric : metrics_) {
    if (metric.kind == MetricKind::derived) continue;
    cells_[metric.name] = cells;
    cells += dim_size(metric.dims.front());
  }
  for (const int size : plan_.sizes) {
    auto& places = places_.emplace_back();
    for (std::size_t p = 0; p < options_.top_n.size(); ++p) {
      if (options_.top_n[p] == size) places.push_back(static_cast<Index>(p));
    }
  }
  if (groups_.cooperation) cooperation_.emplace(options_, plan_.sizes, slots);
}

MeasureNeeds SelectionMeasure::needs() const {
  int top = plan_.depth();
  if (groups_.cooperation) top = std::max(top, Cooperation::kOverlapSize);
  return {true, top};
}

Index SelectionMeasure::dim_size(std::string_view dim) const {
  if (dim == "top_n") return static_cast<Index>(options_.top_n.size());
  if (dim == "critical_size") return plan_.critical;
  return 0;
}

void SelectionMeasure::set(RowSink& sink, Index row, Index first_cell, int size,
                           double value) const {
  for (const Index place : places_[at(size)]) sink.set(row, first_cell + place, value);
}

void SelectionMeasure::begin_head(const HeadInput& head, ThreadPool& pool) {
  // Documents are read as far as the longest length that fits.
  Index length = head.x.size();
  for (const int l : options_.lengths) {
    if (l <= head.length()) length = std::min<Index>(head.x.size(), l);
  }
  if (!gram_ || key_ == 0 || head.x.key != key_ || length != length_) {
    gram_ = std::make_unique<Gram>(head.x, length, pool);
    if (plan_.distance) cross_ = CrossDistance(*gram_, pool);
    closest_.clear();
    key_ = head.x.key;
    length_ = length;
  }
  space_ = {};
  space_.gram = gram_.get();
  space_.x = head.x;
  if (plan_.separability) {
    if (!null_ || null_->columns() < length || null_->dimension() != gram_->dimension()) {
      const Matrix<float> points = sphere_points(options_.seed, gram_->dimension(), length, pool);
      Vectors z;
      z.rows = points;
      null_ = std::make_unique<Gram>(z, length, pool);
    }
    space_.null = null_.get();
    const Index window = head.visibility.window();
    auto found = closest_.find(window);
    if (found == closest_.end()) {
      found =
          closest_.emplace(window, closest_pairs(*gram_, window, plan_.unit_sphere, pool)).first;
    }
    space_.closest = found->second;
  }
  if (cooperation_) cooperation_->begin_head(head, length);
}

void SelectionMeasure::observe(const RowBlock& block, int slot, RowSink& sink) {
  Workspace& work = workspaces_[at(slot)];
  work.block.begin(block, space_, plan_);
  work.block.walk();
  if (plan_.distance) {
    project(block, work);
    measure_distance(block, work, sink);
    if (plan_.critical > 0) measure_critical(block, work, sink);
  }
  if (plan_.separability) measure_separability(block, slot, work, sink);
}

// <x_j, Y> / |x_j| = sum over i of a_i |x_i| c_ij for all columns, and |Y|^2.
void SelectionMeasure::project(const RowBlock& block, Workspace& work) const {
  const Gram& gram = *space_.gram;
  const auto rows = static_cast<Index>(block.rows.size());
  Index end = 0;
  for (const Row& row : block.rows) end = std::max(end, row.keys.end);
  const Index stride = (end + kWalkColumns - 1) / kWalkColumns * kWalkColumns;
  const Index inner = gram.rows_before(end);
  work.gathered.assign(at(rows * inner), 0.0f);
  if (work.projection.size() < at(rows * stride)) work.projection.resize(at(rows * stride));
  for (Index r = 0; r < rows; ++r) {
    const Row& row = block.rows[at(r)];
    const auto& line = work.block.line(r);
    const Index lead = row.keys.begin - line.first_panel * kWalkColumns;
    float* to = work.gathered.data() + r * inner;
    for (Index j = 0; j < row.n(); ++j) {
      to[gram.row_of(row.keys.begin + j)] += line.scaled[at(lead + j)];
    }
  }
  GemmOptions options;
  options.col_end = std::min(end, gram.columns());
  gemm({work.gathered.data(), rows, inner}, gram.products(), {work.projection.data(), rows, stride},
       options);
  work.total_square.assign(at(rows), 0.0);
  for (Index r = 0; r < rows; ++r) {
    const auto& line = work.block.line(r);
    float* to = work.projection.data() + r * stride + line.first_panel * kWalkColumns;
    double total = 0;
    for (std::size_t j = 0; j < line.rank.size(); ++j) {
      if (line.rank[j] == kNoKey) {
        to[j] = kInfinite;
      } else {
        total += static_cast<double>(line.scaled[j]) * to[j];
      }
    }
    work.total_square[at(r)] = std::max(total, 0.0);
  }
}

void SelectionMeasure::measure_distance(const RowBlock& block, Workspace& work,
                                        RowSink& sink) const {
  const auto rows = static_cast<Index>(block.rows.size());
  const bool is_signed = block.normalizer->traits().is_signed;
  Index end = 0;
  for (const Row& row : block.rows) end = std::max(end, row.keys.end);
  const Index columns = (end + kWalkColumns - 1) / kWalkColumns * kWalkColumns;
  for (Index r = 0; r < rows; ++r) {
    const auto& line = work.block.line(r);
    const auto sums = work.block.sums(r, WalkKind::scaled);
    const std::span<const float> projection(
        work.projection.data() + r * columns + line.first_panel * kWalkColumns, line.scaled.size());
    const ContextFacts context{line.n, work.total_square[at(r)], line.scaled_square};
    DistanceFacts facts;
    facts.n = line.n;
    facts.is_signed = is_signed;
    double scaled = 0;
    int member = 0;
    for (int s = 0; s < line.sizes; ++s) {
      const int size = plan_.sizes[at(s)];
      for (; member < size; ++member) {
        const auto k = at(member);
        facts.selected += line.member_attention[k];
        scaled += std::abs(static_cast<double>(line.member_scaled[k]));
        facts.largest_norm =
            std::max<double>(facts.largest_norm, gram_->row_norms()[line.member_row[k]]);
      }
      facts.size = size;
      facts.rest = line.mass - facts.selected;
      facts.scaled_rest = std::max(line.scaled_mass - scaled, 0.0);
      facts.set_norm = std::sqrt(sums.set_square[at(size - 1)]);
      facts.cross =
          cross_.largest(line.member_row, size, line.rank, line.first_panel, work.scratch);
      const double distance = sum_distances(line.scaled, line.rank, sums.stored.row(s), size,
                                            static_cast<float>(sums.set_square[at(size - 1)]));
      const ExpectedSums expected =
          expected_distances(line.scaled, projection, line.norm, context, size);
      set(sink, r, cell("selected_mass"), s, facts.selected);
      set(sink, r, cell("distance"), s, distance);
      set(sink, r, cell("distance_bound"), s, distance_bound(facts));
      set(sink, r, cell("distance_bound_paper"), s, distance_bound_paper(facts));
      set(sink, r, cell("expected_distance"), s, expected.main);
      set(sink, r, cell("expected_distance_upper"), s, expected.upper);
      set(sink, r, cell("expected_distance_context"), s, expected.context);
      set(sink, r, cell("margin"), s, distance / static_cast<double>(line.n - size));
    }
  }
}

void SelectionMeasure::measure_critical(const RowBlock& block, Workspace& work,
                                        RowSink& sink) const {
  const auto rows = static_cast<Index>(block.rows.size());
  const Index depth = plan_.critical;
  work.set_square.resize(at(rows * depth));
  work.distance.assign(at(rows * depth * kWalkLanes), 0.0f);
  work.context.assign(at(rows * depth * kWalkLanes), 0.0f);
  Index end = 0, last = 0;
  for (Index r = 0; r < rows; ++r) {
    const auto& line = work.block.line(r);
    const auto squares = work.block.sums(r, WalkKind::scaled).set_square;
    for (int k = 0; k < line.critical; ++k) {
      work.set_square[at(r * depth + k)] = static_cast<float>(squares[at(k)]);
    }
    end = std::max(end, block.rows[at(r)].keys.end);
    last = std::max(last, line.first_panel + line.panels);
  }
  const Index columns = (end + kWalkColumns - 1) / kWalkColumns * kWalkColumns;
  for (Index p = 0; p < last; ++p) {
    work.walks.clear();
    for (Index r = 0; r < rows; ++r) {
      const auto& line = work.block.line(r);
      if (p < line.first_panel || p >= line.first_panel + line.panels || line.critical == 0) {
        continue;
      }
      const Index column = (p - line.first_panel) * kWalkColumns;
      DistanceWalk walk;
      walk.row = work.block.walk_row(r, p, line.critical);
      walk.steps = line.critical;
      walk.coefficient = line.member_scaled.data();
      walk.weight = line.scaled.data() + column;
      walk.projection = work.projection.data() + r * columns + p * kWalkColumns;
      walk.norm = line.norm.data() + column;
      walk.set_square = work.set_square.data() + r * depth;
      walk.total_square = static_cast<float>(work.total_square[at(r)]);
      walk.spread = static_cast<float>(1.0 / static_cast<double>(line.n - 1));
      walk.distance = work.distance.data() + r * depth * kWalkLanes;
      walk.context = work.context.data() + r * depth * kWalkLanes;
      work.walks.push_back(walk);
    }
    walk_distances(gram_->products().panel(p), work.walks);
  }
  const Index distance_cell = cell("distance_at_n"), excess_cell = cell("context_excess_at_n");
  for (Index r = 0; r < rows; ++r) {
    const auto& line = work.block.line(r);
    for (int k = 0; k < line.critical; ++k) {
      double distance = 0, context = 0;
      for (Index lane = 0; lane < kWalkLanes; ++lane) {
        distance += work.distance[at((r * depth + k) * kWalkLanes + lane)];
        context += work.context[at((r * depth + k) * kWalkLanes + lane)];
      }
      const auto n = static_cast<double>(line.n);
      sink.set(r, distance_cell + k, distance);
      sink.set(r, excess_cell + k, distance - (n - (k + 1)) / n * context);
    }
  }
}

void SelectionMeasure::measure_separability(const RowBlock& block, int slot, Workspace& work,
                                            RowSink& sink) {
  const auto rows = static_cast<Index>(block.rows.size());
  const bool is_signed = block.normalizer->traits().is_signed;
  work.flags.resize(at(plan_.depth()));
  for (Index r = 0; r < rows; ++r) {
    const Row& row = block.rows[at(r)];
    const auto& line = work.block.line(r);
    work.separator.begin(work.block, r, row, *block.normalizer, space_, plan_);
    const double largest = plan_.unit_sphere ? 1.0 : line.largest_norm;
    const double closest2 = space_.closest[at(row.keys.end)];
    if (cooperation_) cooperation_->begin_row(slot, row);
    for (int s = 0; s < line.sizes; ++s) {
      const int size = plan_.sizes[at(s)];
      const auto count = static_cast<double>(size);
      const Separation found = work.separator.separate(WalkKind::unit, s, work.flags);
      set(sink, r, cell("separability"), s, found.distinguishable / count);
      if (cooperation_) cooperation_->add_set(slot, s, std::span(work.flags).first(at(size)));
      if (!groups_.separability) continue;
      const std::span<const float> weights = line.member_attention.first(at(size));
      const SeparationBounds bounds = separation_bounds(weights, found.radius, largest, closest2,
                                                        gram_->dimension(), is_signed);
      set(sink, r, cell("separability_lower"), s, bounds.lower);
      set(sink, r, cell("separability_model_lower"), s, bounds.model_lower);
      set(sink, r, cell("separability_model_upper"), s, bounds.model_upper);
      set(sink, r, cell("separability_lower_paper"), s, bounds.lower_paper);
      set(sink, r, cell("separability_upper_paper"), s, bounds.upper_paper);
    }
    if (!groups_.separability) continue;
    for (int s = 0; s < line.sizes; ++s) {
      const Separation found = work.separator.separate(WalkKind::null, s, work.flags);
      set(sink, r, cell("separability_null"), s,
          found.distinguishable / static_cast<double>(plan_.sizes[at(s)]));
    }
  }
}

void SelectionMeasure::end_layer(int layer, const LayerStatistics& statistics, ThreadPool& pool) {
  if (cooperation_) cooperation_->end_layer(layer, statistics, pool);
}

void SelectionMeasure::derive(std::span<const LayerStatistics* const> layers, Results& results) {
  if (groups_.distance) derive_critical(layers, options_, plan_.critical, results);
  if (cooperation_) cooperation_->derive(results);
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
  std::size_t bytes = Gram::bytes(longest, longest, dimension);
  if (plan.separability) bytes += Gram::bytes(longest, longest, dimension);
  if (plan.distance) bytes += CrossDistance::bytes(longest, longest);
  // Columns of a block: weights, ranks, projections and stored sums; then the members of its rows.
  const Index rows = std::clamp<Index>((Index{1} << 18) / std::max<Index>(longest, 1), 16, 64);
  const Index floats = rows * longest * (6 + sizes) +
                       rows * plan.depth() * (12 + 3 * sizes + 2 * (plan.critical > 0 ? 16 : 0));
  bytes += at(slots) * at(floats) * sizeof(float);
  if (groups.cooperation) {
    Index tokens = 0;
    for (const Index document : source.documents) tokens += std::min(document, longest);
    bytes += at(tokens * source.heads) * Cooperation::row_bytes(plan.sizes);
  }
  return bytes;
}

std::unique_ptr<Measure> make_selection_measure(const MeasureOptions& options,
                                                const SourceInfo& source, SelectionGroups groups,
                                                int slots) {
  static_cast<void>(source);
  return std::make_unique<SelectionMeasure>(options, groups, slots);
}

}  // namespace headgauge
