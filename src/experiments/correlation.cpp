// Computes the rank correlation of the two papers' metrics over heads: does a head that selects
// poorly also need more context?
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "convergence/budget.hpp"
#include "experiments/converge_output.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "results/declared.hpp"
#include "statistics/rank_correlation.hpp"

namespace headgauge {
namespace {

// Returns the values of a metric over the heads, at the longest length and the judged top_n; for
// budgets, with the sampler "recent" and a tolerance of 5 %.
std::vector<double> over_heads(const Results& results, const std::string& metric) {
  std::vector<double> values;
  const auto top_n = judged_top_n(results);
  const auto tolerance = find_label(results, "tolerance", kServed);
  for (const HeadName& head : measured_heads(results)) {
    const Pick layer{"layer", head.layer_index}, column{"head", head.head_index};
    std::optional<MetricCell> cell;
    if (metric == metric::separability && top_n) {
      cell = find_cell(results, metric, {layer, column, {"top_n", *top_n}});
    } else if (metric == metric::tokens_for_error && tolerance) {
      cell = find_cell(results, metric,
                       {layer,
                        column,
                        {"tolerance", *tolerance},
                        {"sampler", static_cast<Index>(Sampler::recent)}});
    } else {
      cell = find_cell(results, metric, {layer, column});
    }
    double value = cell ? cell->value : kUndefined;
    const std::string& of = metric_info(metric).fraction_of;
    if (!of.empty()) {
      // A critical N beyond the searched range ranks above all that were found.
      const auto n = find_cell(results, of, {layer, column});
      if (n && n->is_none) value = 1;
    }
    values.push_back(value);
  }
  return values;
}

std::vector<std::string> those_there(const Results& results,
                                     std::initializer_list<const char*> names) {
  std::vector<std::string> there;
  for (const char* name : names) {
    if (results.metric(name) != nullptr) there.emplace_back(name);
  }
  return there;
}

}  // namespace

void write_correlations(const ConvergeOptions& options, Results& results) {
  const auto a = those_there(
      results, {metric::critical_fraction_head, metric::separability, metric::entropy_slope});
  const auto b = those_there(results, {metric::horizon, metric::rate_mean, metric::rate_covariance,
                                       metric::tokens_for_error});
  if (a.empty() || b.empty()) return;
  results.set_coord("capacity_metric", a);
  results.set_coord("convergence_metric", b);
  LabelledArray& value = add_declared(results, metric::rank_correlation);
  LabelledArray& low = add_declared(results, metric::rank_correlation_low);
  LabelledArray& high = add_declared(results, metric::rank_correlation_high);
  value.with_rows();
  int most = 0;
  unsigned key = 0;
  for (Index i = 0; i < std::ssize(a); ++i) {
    const auto x = over_heads(results, a[i]);
    for (Index j = 0; j < std::ssize(b); ++j) {
      const auto y = over_heads(results, b[j]);
      const RankCorrelation found = rank_correlation(x, y, options.scan.seed, key++);
      value.set({i, j}, {found.value, kUndefined, found.pairs});
      low({i, j}) = found.low;
      high({i, j}) = found.high;
      most = std::max(most, found.pairs);
    }
  }
  if (most < kFewestPairs) {
    results.notices.push_back(fmt::format(
        "rank correlations: too few heads ({}; {} are the fewest)", most, kFewestPairs));
  }
}

}  // namespace headgauge
