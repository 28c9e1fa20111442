// fit_interventions(): the parameter of each head, on a calibration text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "headgauge/compare.hpp"
#include "measures/output_change.hpp"
#include "scan/run.hpp"

namespace headgauge {
namespace {

constexpr int kCoarse = 17;
constexpr int kFine = 7;  // between the neighbours of the best
constexpr int kPasses = 3;

// What is fitted: the parameter of a normalizer that was declared with a range, and was not given.
struct Fitting {
  NormalizerInfo info;
  Parameter parameter;
  FitRange range;
};

// What is fitted of an intervention; nothing where there is nothing to choose. `longest`: keys of a
// row.
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

// `count` values from low to high, both included, as the parameter takes them.
std::vector<double> grid(const Fitting& fitting, double low, double high, int count) {
  std::set<double> values;
  for (int i = 0; i < count; ++i) {
    const double at = static_cast<double>(i) / (count - 1);
    double value = fitting.range.geometric && low > 0 ? low * std::pow(high / low, at)
                                                      : low + (high - low) * at;
    if (fitting.parameter.domain->whole) value = std::round(value);
    if (fitting.parameter.domain->even) value = 2 * std::round(value / 2);
    // Numbers that people can type: 4 significant digits.
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

// Values to try, head by head.
using Candidates = std::vector<std::vector<double>>;

// Mean output change at the longest length: [candidate][head]; undefined where there is none.
std::vector<std::vector<double>> try_candidates(HeadSource& source, const ScanPlan& plan,
                                                const Intervention& intervention,
                                                const Fitting& fitting,
                                                const Candidates& candidates, Progress* progress,
                                                const std::stop_token& stop) {
  std::size_t most = 0;
  for (const auto& values : candidates) most = std::max(most, values.size());
  std::vector<HeadInterventions> interventions(most, HeadInterventions(intervention.heads.size()));
  std::vector<std::pair<double, std::shared_ptr<const Normalizer>>> made;
  for (std::size_t h = 0; h < candidates.size(); ++h) {
    for (std::size_t c = 0; c < candidates[h].size(); ++c) {
      const double value = candidates[h][c];
      auto known = std::ranges::find_if(made, [&](const auto& m) { return m.first == value; });
      if (known == made.end()) {
        made.emplace_back(value, normalizer_at(fitting, value));
        known = made.end() - 1;
      }
      interventions[c][h].normalizer = known->second;
    }
  }
  TriedInterventions tried;
  tried.dimension = "candidate";
  std::vector<double> numbers = {0};
  for (const HeadInterventions& candidate : interventions) {
    tried.interventions.push_back(&candidate);
    numbers.push_back(static_cast<double>(numbers.size()));
  }
  tried.labels = std::move(numbers);
  ScanPlan trial = plan;
  trial.options.own_measures = {
      [&](const MeasureOptions& measure, const SourceInfo& info, int slots) {
        return make_output_change(tried, info, slots, measure.seed);
      }};
  source.intervene({});
  const Results results = run_scan(source, trial, {}, progress, stop);
  if (results.partial) throw InterruptedError("interrupted while fitting; nothing was saved");
  const LabelledArray changes = results.require_metric("output_change").isel("length", -1);
  const Index heads = changes.dim("head").size();
  std::vector<std::vector<double>> found(most, std::vector<double>(candidates.size(), kUndefined));
  for (std::size_t h = 0; h < candidates.size(); ++h) {
    for (std::size_t c = 0; c < candidates[h].size(); ++c) {
      const auto head = static_cast<Index>(h);
      found[c][h] = changes({head / heads, head % heads, static_cast<Index>(c) + 1});
    }
  }
  return found;
}

// The index of the least change, or -1.
int best_candidate(const std::vector<std::vector<double>>& changes, std::size_t head,
                   std::size_t count) {
  int best = -1;
  for (std::size_t c = 0; c < count; ++c) {
    const double value = changes[c][head];
    if (std::isnan(value)) continue;
    if (best < 0 || value < changes[static_cast<std::size_t>(best)][head])
      best = static_cast<int>(c);
  }
  return best;
}

}  // namespace

void fit_interventions(HeadSource& source, const CompareOptions& options,
                       std::vector<Intervention>& interventions, Progress* progress,
                       std::stop_token stop) {
  if (!source.info().has_values) {
    throw UnsupportedError(fault("fit_interventions()", "a source that holds values",
                                 source.info().name + ", which has none",
                                 "the change of a head's output is what is fitted"));
  }
  ScanOptions scan = options.scan;
  scan.layers.clear();
  scan.heads.clear();
  scan.measures = {"weights"};
  ScanPlan plan = plan_scan(scan, source.info());
  plan = plan.at_length(plan.options.lengths.back());
  plan.options.measures.clear();  // the change of the output alone
  if (!source.info().causal) source.set_context(plan.longest());
  for (Intervention& intervention : interventions) {
    const auto fitting = fitting_of(intervention, plan.longest());
    if (!fitting) {
      intervention.notices.push_back(
          fmt::format("{}: nothing is fitted, for the normalizer has no parameter to choose or it "
                      "was given",
                      intervention.label));
      continue;
    }
    const FitRange& range = fitting->range;
    const std::string& key = fitting->parameter.key;
    Candidates candidates(intervention.heads.size());
    for (std::size_t h = 0; h < candidates.size(); ++h) {
      if (intervention.heads[h].changes())
        candidates[h] = grid(*fitting, range.low, range.high, kCoarse);
    }
    intervention.fitted.assign(candidates.size(), kUndefined);
    intervention.fitted_key = key;
    for (int pass = 0; pass < kPasses; ++pass) {
      const auto changes =
          try_candidates(source, plan, intervention, *fitting, candidates, progress, stop);
      for (std::size_t h = 0; h < candidates.size(); ++h) {
        std::vector<double>& values = candidates[h];
        const int best = best_candidate(changes, h, values.size());
        if (best < 0) continue;
        const auto at = static_cast<std::size_t>(best);
        intervention.fitted[h] = values[at];
        const double low = values[at > 0 ? at - 1 : 0];
        const double high = values[std::min(at + 1, values.size() - 1)];
        values = grid(*fitting, low, high, kFine);
        values.push_back(intervention.fitted[h]);
        std::ranges::sort(values);
        values.erase(std::unique(values.begin(), values.end()), values.end());
      }
    }
    int at_end = 0, silent = 0;
    for (std::size_t h = 0; h < candidates.size(); ++h) {
      if (!intervention.heads[h].changes()) continue;
      if (std::isnan(intervention.fitted[h])) {
        ++silent;
        continue;
      }
      intervention.heads[h].normalizer = normalizer_at(*fitting, intervention.fitted[h]);
      if (intervention.fitted[h] <= range.low || intervention.fitted[h] >= range.high) ++at_end;
    }
    if (at_end > 0) {
      intervention.notices.push_back(
          fmt::format("{}: in {} heads the best {} is an end of the range searched, {} to {}",
                      intervention.label, at_end, key, range.low, range.high));
    }
    if (silent > 0) {
      intervention.notices.push_back(
          fmt::format("{}: {} heads put nothing out, so that nothing was fitted to them",
                      intervention.label, silent));
    }
  }
}

}  // namespace headgauge
