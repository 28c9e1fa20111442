#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "headgauge/changes.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/synthetic.hpp"
#include "results/mean_of.hpp"
#include "results/sentences.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Gives how many scales have a fitted rate of this kind, and for how many it is significantly below
// the prediction (Student's t, Benjamini and Hochberg over the scales).
Scope scope_of_rates(const Results& results, const std::string& kind) {
  const LabelledArray* rate = results.metric("rate_" + kind);
  const LabelledArray* predicted = results.metric(metric::rate_predicted);
  if (rate == nullptr || predicted == nullptr || rate->dims() != predicted->dims()) return {};
  std::vector<double> p_of_slower;
  for (std::size_t s = 0; s < rate->values.size(); ++s) {
    if (std::isnan(rate->values[s]) || std::isnan(predicted->values[s])) continue;
    p_of_slower.push_back(t_test(mean_of(rate->at_offset(s)), predicted->values[s], Tail::below).p);
  }
  if (p_of_slower.empty()) return {};
  const auto slower = std::ranges::count_if(adjusted_p_values(p_of_slower),
                                            [](double p) { return p <= kFalseDiscoveries; });
  Scope scope;
  return scope.give("kind", kind).count("slower", slower).count("judged", p_of_slower.size());
}

}  // namespace

std::vector<SummaryLine> summarize_simulation(const Results& results) {
  std::vector<SummaryLine> lines;
  for (const char* kind : {"mean", "covariance"}) {
    add_sentences("scales", results, scope_of_rates(results, kind), lines);
  }
  add_sentences("simulation", results, {}, lines);
  return lines;
}

}  // namespace headgauge
