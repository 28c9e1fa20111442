// fit_interventions(): fits the parameter of each head on a calibration text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "headgauge/compare.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/metric_names.hpp"
#include "measures/output_change.hpp"
#include "scan/run.hpp"

namespace headgauge {
namespace {

constexpr int kCoarse = 17;
constexpr int kFine = 7;  // between the neighbours of the best value
constexpr int kPasses = 3;

// The parameter to fit: it belongs to a normalizer, has a declared range, and was not given.
struct Fitting {
  NormalizerInfo info;
  Parameter parameter;
  FitRange range;
};

// Returns what to fit for an intervention; nothing if there is no choice. `longest`: number of keys
// in the longest row.
std::optional<Fitting> fitting_of(const Intervention& intervention, Index longest) {
  const auto changed = std::ranges::find_if(
      intervention.heads,
      [](const HeadIntervention& of_head) { return of_head.normalizer != nullptr; });
  if (changed == intervention.heads.end()) return std::nullopt;
  const NormalizerInfo& info = changed->normalizer->info();
  for (const Parameter& parameter : info.parameters.declared()) {
    if (!parameter.fit) continue;
    if (info.parameters.given(parameter.key)) return std::nullopt;
    FitRange range = *parameter.fit;
    if (range.up_to_keys) range.high = std::min(range.high, static_cast<double>(longest));
    return Fitting{info, parameter, range};
  }
  return std::nullopt;
}

// Returns `count` values from low to high, both included, valid for the parameter.
std::vector<double> grid(const Fitting& fitting, double low, double high, int count) {
  std::set<double> values;
  for (int i = 0; i < count; ++i) {
    const double at = static_cast<double>(i) / (count - 1);
    double value = fitting.range.geometric && low > 0 ? low * std::pow(high / low, at)
                                                      : low + (high - low) * at;
    if (fitting.parameter.domain.whole) value = std::round(value);
    // Rounded to 4 significant digits, so that users can type them.
    values.insert(std::stod(fmt::format("{:.4g}", value)));
  }
  return {values.begin(), values.end()};
}

std::shared_ptr<const Normalizer> normalizer_at(const Fitting& fitting, double value) {
  NormalizerInfo info = fitting.info;
  if (!info.parameters.set(fitting.parameter.key, value)) {
    throw UsageError(fault(fmt::format("{}, parameter {}", info.name, fitting.parameter.key),
                           info.parameters.expected(fitting.parameter.key),
                           fmt::format("{}", value), "correct the range in which it is fitted"));
  }
  return make_normalizer(info);
}

// The values to try, by head.
using Candidates = PerHead<std::vector<double>>;

// Returns interventions that try the first value of every head, the second one, and so on.
std::vector<HeadInterventions> interventions_trying(const Candidates& candidates,
                                                    const Fitting& fitting) {
  std::vector<HeadInterventions> interventions;
  std::map<double, std::shared_ptr<const Normalizer>> made;
  candidates.each([&](int layer, int head, const std::vector<double>& values) {
    for (Index c = 0; c < std::ssize(values); ++c) {
      std::shared_ptr<const Normalizer>& normalizer = made[values[c]];
      if (normalizer == nullptr) normalizer = normalizer_at(fitting, values[c]);
      if (c == std::ssize(interventions)) {
        interventions.emplace_back(candidates.layers(), candidates.heads());
      }
      interventions[c](layer, head).normalizer = normalizer;
    }
  });
  return interventions;
}

// Fits the parameter of one intervention.
class Fit {
 public:
  // `plan` must have one length and no groups.
  Fit(HeadSource& source, const ResolvedScan& plan, const Fitting& fitting, Progress* progress,
      const std::stop_token& stop)
      : source_(source), plan_(plan), fitting_(fitting), progress_(progress), stop_(stop) {}

  void choose(Intervention& intervention) const {
    const HeadInterventions& heads = intervention.heads;
    const FitRange& range = fitting_.range;
    Candidates candidates(heads.layers(), heads.heads());
    candidates.each([&](int layer, int head, std::vector<double>& values) {
      if (heads(layer, head).changes()) values = grid(fitting_, range.low, range.high, kCoarse);
    });
    intervention.fitted = {heads.layers(), heads.heads(), kUndefined};
    intervention.fitted_key = fitting_.parameter.key;
    for (int pass = 0; pass < kPasses; ++pass) {
      const Journal::Stage stage(plan_.options.journal,
                                 fmt::format("{} {}", intervention.label, pass));
      const PerHead<std::vector<double>> changes = output_changes(candidates);
      candidates.each([&](int layer, int head, std::vector<double>& values) {
        const auto best = least(changes(layer, head));
        if (!best) return;
        intervention.fitted(layer, head) = values[*best];
        values = closer(values, *best);
      });
    }
    apply(intervention);
  }

 private:
  // Returns the mean change of each head's output under each of its candidates; undefined if there
  // is none.
  PerHead<std::vector<double>> output_changes(const Candidates& candidates) const {
    const std::vector<HeadInterventions> interventions = interventions_trying(candidates, fitting_);
    TriedInterventions tried;
    tried.dimension = "candidate";
    std::vector<double> numbers = {0};
    for (const HeadInterventions& candidate : interventions) {
      tried.interventions.push_back(&candidate);
      numbers.push_back(static_cast<double>(numbers.size()));
    }
    tried.labels = std::move(numbers);
    ResolvedScan trial = plan_;
    trial.options.own_measures = {[&](const MeasureOptions& measure, const SourceInfo&, int slots) {
      return make_output_change(tried, slots, measure.seed);
    }};
    source_.intervene({});
    const Results results = run_scan(source_, trial, {}, progress_, stop_);
    if (results.partial) throw InterruptedError("interrupted while fitting; nothing was saved");
    const LabelledArray changes = results.require_metric(metric::output_change).isel("length", -1);
    PerHead<std::vector<double>> found(candidates.layers(), candidates.heads());
    found.each([&](int layer, int head, std::vector<double>& of_head) {
      const Index place = source_.info().attention_layers_before(layer);
      for (Index c = 0; c < std::ssize(candidates(layer, head)); ++c) {
        of_head.push_back(changes({place, head, c + 1}));
      }
    });
    return found;
  }

  // Returns the index of the smallest change; nothing if all are undefined.
  static std::optional<Index> least(std::span<const double> changes) {
    std::optional<Index> best;
    for (Index c = 0; c < std::ssize(changes); ++c) {
      if (std::isnan(changes[c])) continue;
      if (!best || changes[c] < changes[*best]) best = c;
    }
    return best;
  }

  // Returns the best value and a finer grid between its neighbours.
  std::vector<double> closer(const std::vector<double>& values, Index best) const {
    const double low = values[std::max<Index>(best - 1, 0)];
    const double high = values[std::min<Index>(best + 1, std::ssize(values) - 1)];
    std::vector<double> finer = grid(fitting_, low, high, kFine);
    finer.push_back(values[best]);
    std::ranges::sort(finer);
    finer.erase(std::unique(finer.begin(), finer.end()), finer.end());
    return finer;
  }

  // Applies the fitted parameters to the heads, and adds notices for doubtful ones.
  void apply(Intervention& intervention) const {
    const FitRange& range = fitting_.range;
    int at_end = 0, silent = 0;
    intervention.heads.each([&](int layer, int head, HeadIntervention& of_head) {
      if (!of_head.changes()) return;
      const double value = intervention.fitted(layer, head);
      if (std::isnan(value)) {
        ++silent;
        return;
      }
      of_head.normalizer = normalizer_at(fitting_, value);
      if (value <= range.low || value >= range.high) ++at_end;
    });
    if (at_end > 0) {
      intervention.notices.push_back(
          fmt::format("{}: in {} heads the best {} is an end of the range searched, {} to {}",
                      intervention.label, at_end, fitting_.parameter.key, range.low, range.high));
    }
    if (silent > 0) {
      intervention.notices.push_back(
          fmt::format("{}: {} heads put nothing out, so that nothing was fitted to them",
                      intervention.label, silent));
    }
  }

  HeadSource& source_;
  const ResolvedScan& plan_;
  const Fitting& fitting_;
  Progress* progress_;
  const std::stop_token& stop_;
};

}  // namespace

void fit_interventions(HeadSource& source, const CompareOptions& options,
                       std::vector<Intervention>& interventions, Progress* progress,
                       std::stop_token stop) {
  if (!source.info().has_values) {
    throw UnsupportedError(fault("fit_interventions()", "a source with values",
                                 source.info().name + ", which has none",
                                 "the fit minimises the change of a head's output"));
  }
  ScanOptions scan = options.scan;
  scan.layers.clear();
  scan.heads.clear();
  scan.measures = {"weights"};
  ResolvedScan plan = resolve_scan(scan, source.info());
  plan = plan.at_length(plan.options.lengths.back());
  plan.options.measures.clear();  // only the change of the output is needed
  if (!source.info().causal) source.set_context(plan.longest());
  // Every process needs the parameters before it continues.
  const Journal::Stage stage(scan.journal, "fit");
  const Journal::Deal whole(scan.journal);
  for (Intervention& intervention : interventions) {
    const auto fitting = fitting_of(intervention, plan.longest());
    if (fitting) {
      Fit(source, plan, *fitting, progress, stop).choose(intervention);
    } else {
      intervention.notices.push_back(
          fmt::format("{}: nothing is fitted, for the normalizer has no parameter to choose or it "
                      "was given",
                      intervention.label));
    }
  }
}

}  // namespace headgauge
