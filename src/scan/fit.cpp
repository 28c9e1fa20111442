// fit_interventions(): the parameter of each head, on a calibration text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "headgauge/compare.hpp"
#include "scan/output_change.hpp"
#include "scan/run.hpp"

namespace headgauge {
namespace {

// The parameter of a rule that decides how sharp it is, and where it is looked for.
struct FitRange {
  const char* rule;
  const char* key;
  double low, high;
  bool geometric = true;
  bool whole = false;
  bool even = false;
};

constexpr FitRange kRanges[] = {
    {"softmax", "t", 0.1, 10},
    {"ssmax", "s", 0.02, 2},
    {"logn-qwen", "train", 2, 16384, true, true},
    {"logn-entropy", "train", 2, 16384, true, true},
    {"yarn", "factor", 1, 256},
    {"entmax", "alpha", 1.02, 2.5, false},
    {"asentmax", "beta", 0, 2, false},
    {"sigmoid", "b", -14, 2, false},
    {"sink", "b", -12, 12, false},
    {"relu", "alpha", 0, 1, false},
    {"topk", "k", 1, 1024, true, true},
    {"poly-normalized", "m", 2, 32, true, true, true},
    {"stieltjes", "q", 0.5, 64},
    {"cosine", "g", 0.5, 128},
    {"softcap", "c", 0.5, 128},
};
constexpr int kCoarse = 17;
constexpr int kFine = 7;  // between the neighbours of the best
constexpr int kPasses = 3;

// `count` values from low to high, both included, as the rule accepts them.
std::vector<double> grid(const FitRange& range, double low, double high, int count) {
  std::set<double> values;
  for (int i = 0; i < count; ++i) {
    const double at = static_cast<double>(i) / (count - 1);
    double value =
        range.geometric && low > 0 ? low * std::pow(high / low, at) : low + (high - low) * at;
    if (range.whole) value = std::round(value);
    if (range.even) value = 2 * std::round(value / 2);
    // Numbers that people can type: 4 significant digits.
    values.insert(std::stod(fmt::format("{:.4g}", value)));
  }
  return {values.begin(), values.end()};
}

// The range of a rule that is to be fitted; nothing where there is nothing to choose.
const FitRange* range_of(const std::string& spec) {
  const std::string name = spec.substr(0, spec.find(':'));
  for (const FitRange& range : kRanges) {
    if (name != range.rule) continue;
    const bool given = spec.find(fmt::format(":{}=", range.key)) != std::string::npos ||
                       spec.find(fmt::format(",{}=", range.key)) != std::string::npos;
    return given ? nullptr : &range;
  }
  return nullptr;
}

std::shared_ptr<const Normalizer> rule_at(const std::string& spec, const FitRange& range,
                                          double value) {
  const char* join = spec.find(':') == std::string::npos ? ":" : ",";
  return make_normalizer(fmt::format("{}{}{}={}", spec, join, range.key, value));
}

// Values to try, head by head.
using Candidates = std::vector<std::vector<double>>;

// Mean output change at the longest length: [candidate][head]; undefined where there is none.
std::vector<std::vector<double>> try_candidates(HeadSource& source, const ScanPlan& plan,
                                                const Intervention& intervention,
                                                const FitRange& range, const Candidates& candidates,
                                                Progress* progress, const std::stop_token& stop) {
  std::size_t most = 0;
  for (const auto& values : candidates) most = std::max(most, values.size());
  std::vector<HeadInterventions> interventions(most, HeadInterventions(intervention.heads.size()));
  std::vector<std::pair<double, std::shared_ptr<const Normalizer>>> made;
  for (std::size_t h = 0; h < candidates.size(); ++h) {
    for (std::size_t c = 0; c < candidates[h].size(); ++c) {
      const double value = candidates[h][c];
      auto known = std::ranges::find_if(made, [&](const auto& m) { return m.first == value; });
      if (known == made.end()) {
        made.emplace_back(value, rule_at(intervention.label, range, value));
        known = made.end() - 1;
      }
      interventions[c][h].rule = known->second;
    }
  }
  std::vector<const HeadInterventions*> views;
  std::vector<double> numbers = {0};
  for (const HeadInterventions& e : interventions) {
    views.push_back(&e);
    numbers.push_back(static_cast<double>(numbers.size()));
  }
  ScanPlan trial = plan;
  trial.options.own_measures = {
      [&](const MeasureOptions& measure, const SourceInfo& info, int slots) {
        return make_output_change(views, "candidate", info, slots, measure.seed);
      }};
  source.intervene({});
  const Results results =
      run_scan(source, trial, {.coords = {{"candidate", numbers}}}, progress, stop);
  if (results.partial) throw InterruptedError("interrupted while fitting; nothing was saved");
  const MetricArray& change = *results.metric("output_change");
  const auto lengths = static_cast<std::size_t>(results.coord_size("length"));
  std::vector<std::vector<double>> found(most, std::vector<double>(candidates.size(), kUndefined));
  for (std::size_t h = 0; h < candidates.size(); ++h) {
    for (std::size_t c = 0; c < candidates[h].size(); ++c) {
      found[c][h] = change.values[(h * lengths + lengths - 1) * (most + 1) + c + 1];
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
    const FitRange* known = range_of(intervention.label);
    if (known == nullptr) {
      intervention.notices.push_back(
          fmt::format("{}: nothing is fitted, for the rule has no parameter to choose or it was "
                      "given",
                      intervention.label));
      continue;
    }
    FitRange range = *known;
    // No row has more keys.
    if (range.rule == std::string_view("topk")) {
      range.high = std::min(range.high, static_cast<double>(plan.longest()));
    }
    Candidates candidates(intervention.heads.size());
    for (std::size_t h = 0; h < candidates.size(); ++h) {
      if (intervention.heads[h].changes())
        candidates[h] = grid(range, range.low, range.high, kCoarse);
    }
    intervention.fitted.assign(candidates.size(), kUndefined);
    intervention.fitted_key = range.key;
    for (int pass = 0; pass < kPasses; ++pass) {
      const auto changes =
          try_candidates(source, plan, intervention, range, candidates, progress, stop);
      for (std::size_t h = 0; h < candidates.size(); ++h) {
        std::vector<double>& values = candidates[h];
        const int best = best_candidate(changes, h, values.size());
        if (best < 0) continue;
        const auto at = static_cast<std::size_t>(best);
        intervention.fitted[h] = values[at];
        const double low = values[at > 0 ? at - 1 : 0];
        const double high = values[std::min(at + 1, values.size() - 1)];
        values = grid(range, low, high, kFine);
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
      intervention.heads[h].rule = rule_at(intervention.label, range, intervention.fitted[h]);
      if (intervention.fitted[h] <= range.low || intervention.fitted[h] >= range.high) ++at_end;
    }
    if (at_end > 0) {
      intervention.notices.push_back(
          fmt::format("{}: in {} heads the best {} is an end of the range searched, {} to {}",
                      intervention.label, at_end, range.key, range.low, range.high));
    }
    if (silent > 0) {
      intervention.notices.push_back(
          fmt::format("{}: {} heads put nothing out, so that nothing was fitted to them",
                      intervention.label, silent));
    }
  }
}

}  // namespace headgauge
