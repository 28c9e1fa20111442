#include "headgauge/converge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/memory.hpp"
#include "convergence/budget.hpp"
#include "convergence/population.hpp"
#include "convergence/rate.hpp"
#include "convergence/subsample.hpp"
#include "experiments/converge_output.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/parallel.hpp"
#include "headgauge/synthetic.hpp"
#include "scan/passes.hpp"
#include "scan/run.hpp"
#include "scan/stopwatch.hpp"

namespace headgauge {
namespace {

// Averages each head over the documents that reach the context length.
class HeadLooker {
 public:
  HeadLooker(const ConvergeOptions& options, const ResolvedScan& plan, const SourceInfo& source,
             const std::stop_token& stop)
      : length_(plan.longest()),
        has_unrotated_(source.has_unrotated),
        normalizer_(*options.scan.own_normalizer),
        pool_(plan.options.threads) {
    subsample_.tokens = options.grid;
    subsample_.replicates = options.replicates;
    subsample_.seed = plan.options.seed;
    subsample_.stop = stop;
    budget_.draws = options.draws;
    budget_.seed = plan.options.seed;
    budget_.queries = *plan.options.queries;
    budget_.stop = stop;
  }

  void observe(const HeadInput& head) {
    // Shorter documents and a bidirectional model's shorter passes do not contribute.
    if (head.length() < length_) return;
    const Stopwatch watch;
    HeadConvergence& found = of_document_[{head.layer, head.head}];
    ++found.documents;
    add_horizon(head, found);
    if (!head.values.empty()) {
      add_errors(head, found);
      add_budget(head, found);
    }
    seconds_ += watch.seconds();
  }

  // Write the findings of a document and forget them; read them back.
  void write_part(ByteWriter& part) {
    part.put(static_cast<std::uint64_t>(of_document_.size()));
    for (const auto& [name, head] : of_document_) {
      part.put(name.first);
      part.put(name.second);
      head.write(part);
    }
    of_document_.clear();
  }
  void read_part(ByteReader& part) {
    for (auto left = part.take<std::uint64_t>(); left > 0; --left) {
      const auto layer = part.take<int>();
      const auto head = part.take<int>();
      HeadConvergence of_head;
      of_head.read(part);
      of_layer_[{layer, head}].add(of_head);
    }
  }
  // A layer that was interrupted leaves no results.
  void end_layer() {
    found_.merge(of_layer_);
    of_layer_.clear();
  }

  // Returns means over the documents.
  HeadConvergences finish() {
    for (auto& [name, head] : found_) head.divide();
    return std::move(found_);
  }
  double seconds() const { return seconds_; }

 private:
  void add_horizon(const HeadInput& head, HeadConvergence& found) const {
    if (head.queries.empty() || !has_unrotated_) {
      found.horizon = found.horizon_paper = kUndefined;  // a dump of scores, or a live model
      return;
    }
    const auto rows = [&](MatrixView<const float> plain, MatrixView<const float> rotated) {
      const auto& of = plain.empty() ? rotated : plain;
      return of.block(0, length_, 0, of.cols());
    };
    const double spread = query_key_spread(rows(head.unrotated_queries, head.queries),
                                           rows(head.unrotated_keys, head.keys));
    found.horizon += head.scale * spread;
    found.horizon_paper += spread;
  }

  void add_errors(const HeadInput& head, HeadConvergence& found) {
    const FullAttention full = full_attention(head, normalizer_, length_, pool_);
    const SubsampleErrors errors = subsample_errors(head, normalizer_, full, subsample_, pool_);
    found.mean.add(errors.mean, errors.mean_unit, errors.mean_floor);
    found.covariance.add(errors.covariance, errors.covariance_unit, errors.covariance_floor);
  }

  void add_budget(const HeadInput& head, HeadConvergence& found) {
    const BudgetCurves curves = budget_curves(head, normalizer_, length_, budget_, pool_);
    if (curves.error.empty()) return;
    ++found.budgets;
    found.budget_points = curves.keys;
    found.budget_error.resize(curves.error.size());
    for (std::size_t s = 0; s < curves.error.size(); ++s) {
      auto& sums = found.budget_error[s];
      sums.resize(curves.error[s].size());
      for (std::size_t p = 0; p < sums.size(); ++p) sums[p] += curves.error[s][p];
    }
    found.error_constant += curves.error_constant;
  }

  Index length_;
  bool has_unrotated_;
  const Normalizer& normalizer_;
  ThreadPool pool_;
  SubsampleOptions subsample_;
  BudgetOptions budget_;
  HeadConvergences of_document_;
  HeadConvergences of_layer_;  // sums over its documents so far
  HeadConvergences found_;
  double seconds_ = 0;
};

// Passes every head that a scan measures to a HeadLooker.
class EveryHead final : public Measure {
 public:
  explicit EveryHead(HeadLooker& looker) : looker_(looker) {}
  void declare(MetricRegistry&) override {}
  MeasureNeeds needs() const override { return {}; }
  void begin_head(const HeadInput& head, ThreadPool&) override { looker_.observe(head); }
  void write_part(int, ThreadPool&, ByteWriter& part) override { looker_.write_part(part); }
  void read_part(int, ByteReader& part) override { looker_.read_part(part); }
  void end_layer(int, const LayerStatistics&, ThreadPool&) override { looker_.end_layer(); }
  void observe(const RowBlock&, int, RowSink&) override {}

 private:
  HeadLooker& looker_;
};

void check_values(const std::vector<int>& grid, int length) {
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (grid[i] < 2 || (i > 0 && grid[i] <= grid[i - 1])) {
      throw UsageError(fault("ConvergeOptions::grid", "ascending numbers of tokens of at least 2",
                             fmt::format("{}", fmt::join(grid, ", ")), "correct the list"));
    }
  }
  if (grid.back() > length) {
    throw UsageError(fault("ConvergeOptions::grid",
                           fmt::format("at most {} tokens (the context that is measured)", length),
                           std::to_string(grid.back()),
                           "ask for fewer, or for a longer context with ScanOptions::lengths"));
  }
}

// The options with defaults filled in.
struct ResolvedConverge {
  ConvergeOptions options;
  ResolvedScan scan;
};

ResolvedConverge resolve_convergence(ConvergeOptions options, const SourceInfo& info) {
  if (options.scan.pattern != "none" || options.scan.own_pattern != nullptr) {
    throw UsageError(fault("converge", "no pattern", options.scan.pattern,
                           "compare the pattern with compare() and CompareOptions::patterns"));
  }
  if (!info.has_values && info.head_dim == 0) {
    throw UnsupportedError(fault(info.name, "queries and keys, or values", "scores alone",
                                 "dump q and k, or v in addition to the scores"));
  }
  if (options.scan.measures.empty()) {
    options.scan.measures = {"weights", "dispersion"};
    if (info.has_x) options.scan.measures = {"weights", "distance", "separability", "dispersion"};
  }
  ResolvedScan scan = resolve_scan(options.scan, info);
  const int length = static_cast<int>(scan.longest());
  if (length < kShortestContext) {
    throw BadInputError(fault(
        "ScanOptions::lengths", fmt::format("a context of at least {} tokens", kShortestContext),
        fmt::format("{}", length), "give a longer text, or a longer one of ScanOptions::lengths"));
  }
  if (options.replicates < 2) {
    throw UsageError(fault("ConvergeOptions::replicates", "at least 2",
                           std::to_string(options.replicates), "a spread needs two"));
  }
  if (options.grid.empty()) options.grid = default_grid(length, options.points);
  check_values(options.grid, length);
  options.tolerances.push_back(kServed);  // the tolerance of caches
  std::ranges::sort(options.tolerances);
  const auto twice = std::ranges::unique(options.tolerances);
  options.tolerances.erase(twice.begin(), twice.end());
  options.scan = scan.options;
  options.scan.own_normalizer = scan.intervention.normalizer;
  if (options.scan.own_normalizer == nullptr) {
    options.scan.own_normalizer = make_normalizer(options.scan.normalizer);
  }
  return {std::move(options), std::move(scan)};
}

}  // namespace

std::vector<int> default_grid(int length, int points) {
  const double first = length / 8, last = length * 3 / 4;
  std::vector<int> grid;
  for (const double exact : geometric(first, last, points)) {
    // Removes the rounding error of pow() from whole numbers.
    const int n = static_cast<int>(exact + 1e-9);
    if (grid.empty() || n > grid.back()) grid.push_back(n);
  }
  return grid;
}

Results converge(HeadSource& source, const ConvergeOptions& given, Progress* progress,
                 std::stop_token stop) {
  const SourceInfo& info = source.info();
  const Journal::Stage stage(given.scan.journal, "converge");
  const Journal::Deal deal(given.scan.journal, document_costs(info.documents));
  ResolvedConverge plan = resolve_convergence(given, info);
  require_memory(
      info.bytes + subsample_bytes(plan.scan.longest(), info.head_dim, plan.scan.options.threads) +
          budget_bytes(plan.scan.longest(), plan.options.draws),
      "convergence on " + info.name,
      "use a shorter context with ScanOptions::lengths, or fewer ScanOptions::threads or "
      "ConvergeOptions::draws");
  HeadLooker looker(plan.options, plan.scan, info, stop);
  plan.scan.options.own_measures.push_back(
      [&](const MeasureOptions&, const SourceInfo&, int) -> std::unique_ptr<Measure> {
        return std::make_unique<EveryHead>(looker);
      });
  const auto pass = [&](const ResolvedScan& scan, Progress* part) {
    return run_scan(source, scan, {.begins_anywhere = true}, part, stop);
  };
  Results results = info.causal ? pass(plan.scan, progress)
                                : pass_over_lengths(source, plan.scan, pass, progress);
  if (!given.scan.journal.get().has_all()) return results;
  auto& seconds = results.timings.measure;
  seconds = std::max(0.0, seconds.value() - looker.seconds());
  results.timings.converge = looker.seconds();
  write_convergence(looker.finish(), plan.options, info, results);
  return results;
}

}  // namespace headgauge
