// Computes what the sentences about converge() say and its results do not hold as it is.
#include <algorithm>
#include <cmath>
#include <vector>

#include "convergence/budget.hpp"
#include "experiments/converge_output.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/changes.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/metric_names.hpp"
#include "results/mean_of.hpp"
#include "results/sentences.hpp"
#include "statistics/false_discoveries.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// Gives how many heads could be shown to be slower than their horizon predicts, and how many are.
void give_slower_heads(const Results& results, const std::vector<HeadName>& heads, Scope& scope) {
  std::vector<double> p_of_slower;
  for (const HeadName& head : heads) {
    const auto rate = find_cell_of_head(results, metric::rate_covariance, head);
    const auto predicted = find_cell_of_head(results, metric::rate_predicted, head);
    if (!rate || !predicted || std::isnan(rate->standard_error)) continue;
    p_of_slower.push_back(t_test(mean_of(*rate), predicted->value, Tail::below).p);
  }
  if (p_of_slower.empty()) return;
  const auto below = std::ranges::count_if(adjusted_p_values(p_of_slower),
                                           [](double p) { return p <= kFalseDiscoveries; });
  scope.count("slower", below).count("judged", p_of_slower.size());
}

}  // namespace

std::vector<SummaryLine> summarize_convergence(const Results& results) {
  const std::vector<HeadName> heads = measured_heads(results);
  const auto tolerance = find_label(results, "tolerance", kServed);
  Scope scope(
      {{"tolerance", tolerance.value_or(0)}, {"sampler", static_cast<Index>(Sampler::recent)}});
  scope.give("heads", heads)
      .give_if("has_tolerance", tolerance.has_value())
      .give_if("is_causal", results.model.causal.value_or(true));
  give_slower_heads(results, heads, scope);
  const auto full = find_cell(results, metric::cache_bytes, {{"cache", 0}});
  const auto kept = find_cell(results, metric::cache_bytes, {{"cache", 1}});
  if (full && kept) scope.count("cache_share", 100 * kept->value / full->value);
  return sentences_about("convergence", results, scope);
}

}  // namespace headgauge
