#include "experiments/prediction_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/parallel.hpp"
#include "results/declared.hpp"
#include "statistics/false_discoveries.hpp"

namespace headgauge {
namespace {

// Returns whether all values are above 0 or all are below 0.
bool one_sign(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; }) ||
         std::ranges::all_of(values, [](double value) { return value < 0; });
}

}  // namespace

void write_predictions(const PredictionTables& tables, const char* outcome,
                       const PredictionOptions& plan, double level, int threads, Results& results) {
  const Index count = std::ssize(tables.changes);
  const std::size_t pairs = tables.predictors.size() * tables.changes.size();
  std::vector<Prediction> found(pairs);
  ThreadPool pool(thread_count(threads));
  pool.for_each(std::ssize(found), [&](Index i) {
    const HeadTable& predictor = tables.predictors[i / count];
    const auto pair = static_cast<std::uint32_t>(i);
    found[i] = predict(predictor, tables.changes[i % count], plan, pair);
  });
  std::vector<double> p, of_any;
  for (const Prediction& prediction : found) {
    p.push_back(prediction.p);
    of_any.push_back(prediction.p_of_any);
  }
  p = adjusted_p_values(p);
  of_any = adjusted_p_values(of_any);
  const auto shown = [&](const std::vector<double>& adjusted, std::size_t i) {
    return adjusted[i] <= level && one_sign(found[i].by_text);
  };
  int within = 0, any = 0;

  const auto of_outcome = [&](const char* name) -> LabelledArray& {
    LabelledArray* there = results.metric(name);
    return there != nullptr ? *there : add_declared(results, name);
  };
  const Index o = *results.require_coord(kOutcome).find(outcome);
  LabelledArray& correlation = of_outcome(metric::rank_correlation).with_rows();
  LabelledArray& inside = of_outcome(metric::rank_correlation_within);
  LabelledArray& predicts = of_outcome(metric::predicts);
  LabelledArray& replicated = of_outcome(metric::replication);
  LabelledArray& by_part =
      add_declared(results, outcome == std::string_view(kText) ? metric::rank_correlation_by_text
                                                               : metric::rank_correlation_by_cases);
  for (Index i = 0; i < std::ssize(found); ++i) {
    const Index predictor = i / count, k = i % count;
    correlation.set({predictor, k, o}, {.value = found[i].correlation,
                                        .rows = found[i].heads,
                                        .low = found[i].interval.low,
                                        .high = found[i].interval.high,
                                        .p = p[i]});
    inside({predictor, k, o}) = found[i].within;
    for (Index t = 0; t < std::ssize(found[i].by_text); ++t) {
      by_part({predictor, k, t}) = found[i].by_text[t];
    }
    if (std::isnan(p[i])) continue;
    // Not where the heads of each layer are ordered the other way.
    const bool predicted = shown(p, i) && found[i].within * found[i].correlation > 0;
    predicts({predictor, k, o}) = predicted;
    within += predicted ? 1 : 0;
    any += shown(of_any, i) ? 1 : 0;
  }
  results.notices.push_back(
      fmt::format("{}: {} correlations are shown with the heads of each layer permuted; {} would "
                  "be if all heads were permuted, as if their depth told nothing",
                  outcome, within, any));
  for (Index k = 0; k < count; ++k) replicated({k, o}) = replication(tables.changes[k]);
}

}  // namespace headgauge
