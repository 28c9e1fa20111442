#include "measures/selection_metrics.hpp"

#include <string>
#include <utility>

namespace headgauge {
namespace {

class Declarations {
 public:
  std::vector<MetricInfo> list;

  // A mean over rows for each N of top_n.
  void rows(std::string name, std::string group, std::string formula, std::string source,
            std::string meaning, MetricKind kind = MetricKind::row_mean) {
    MetricInfo info = described(std::move(name), std::move(group), std::move(formula),
                                std::move(source), std::move(meaning));
    info.kind = kind;
    info.dims = {"top_n"};
    info.by_position = kind == MetricKind::row_mean;
    list.push_back(std::move(info));
  }
  void hidden(std::string name, std::string group, std::string dim, std::string formula) {
    MetricInfo info = described(std::move(name), std::move(group), std::move(formula),
                                "docs/mathematics.md 7a", "");
    info.kind = MetricKind::hidden;
    info.dims = {std::move(dim)};
    list.push_back(std::move(info));
  }
  void derived(std::string name, std::string group, std::vector<std::string> dims, std::string unit,
               std::string formula, std::string source, std::string meaning) {
    MetricInfo info = described(std::move(name), std::move(group), std::move(formula),
                                std::move(source), std::move(meaning));
    info.kind = MetricKind::derived;
    info.dims = std::move(dims);
    info.unit = std::move(unit);
    list.push_back(std::move(info));
  }

 private:
  static MetricInfo described(std::string name, std::string group, std::string formula,
                              std::string source, std::string meaning) {
    MetricInfo info;
    info.name = std::move(name);
    info.group = std::move(group);
    info.unit = std::string("1");
    info.formula = std::move(formula);
    info.source = std::move(source);
    info.meaning = std::move(meaning);
    return info;
  }
};

void declare_distance(Declarations& to, const MeasureOptions& options) {
  const std::string group = "distance";
  to.rows("selected_mass", group, "abar = sum of the N largest weights", "paper A, D2.1",
          "share of the weight on the N largest keys");
  to.rows("distance", group, "sum over i outside of ||a_i x_i - s||, s = sum over I_N of a_j x_j",
          "paper A, D2.3", "how far the other keys stay from the sum of the selected ones");
  to.rows("distance_bound", group, "min of A3 and A4, row by row",
          "docs/mathematics.md 2, A3 and A4",
          "never below distance; close to it where the bound explains the distance");
  to.rows("distance_bound_paper", group, "(1 - abar) d_1 + max ||x_j|| (abar (n - N) - (1 - abar))",
          "paper A, Thm 1.1", "the bound as printed (with brackets)");
  to.rows("expected_distance", group, "p sum_i ||(1 + k) y_i - k Y||, y_i = a_i x_i, Y = sum y_i",
          "paper A, Thm 1.2; docs/mathematics.md 2, reading uniform",
          "what N random keys would give, at least: below it the selection is better than chance");
  to.rows("expected_distance_upper", group, "p sum_i sqrt(||m_i||^2 + v_i)",
          "docs/mathematics.md 2, T1.2", "what N random keys would give, at most");
  to.rows("expected_distance_context", group, "p sum_i ||(a_i + k) x_i - Y||",
          "docs/mathematics.md 2, reading context (a conjecture about the paper)",
          "the term that critical_n compares distance with; it bounds nothing");
  to.rows("margin", group, "distance / (n - N)", "docs/mathematics.md 2, note on Cor 2",
          "distance for each key outside the set");
  if (options.expected_draws > 0) {
    to.rows("expected_distance_sampled", group, "mean over random sets of N keys of the distance",
            "docs/mathematics.md 2, T1.2 by Monte Carlo",
            "only with --expected-draws; a check: lies between expected_distance and "
            "expected_distance_upper, in the mean over rows");
    to.hidden("expected_distance_sampled_variance", group, "top_n",
              "squared Monte-Carlo error of a row");
    to.derived("expected_distance_sampled_error", group, {"layer", "head", "length", "top_n"}, "1",
               "Monte-Carlo standard error of expected_distance_sampled", "docs/mathematics.md 2",
               "only with --expected-draws: how far the drawn mean may be from the exact one");
  }
  to.hidden("distance_at_n", group, "critical_size", "distance at N = 1, 2, ...");
  to.hidden("context_excess_at_n", group, "critical_size",
            "distance - expected_distance_context at N = 1, 2, ...");
  to.derived("critical_n", group, {"length"}, "keys",
             "first N at which the heads' mean distances and mean expected_distance_context pass "
             "a two-sample Kolmogorov-Smirnov test; -1 if none",
             "paper A, Fig 2c and Alg 3; docs/mathematics.md 7a",
             "beyond this many keys the top-N set alone carries the head's context");
  to.derived("critical_fraction", group, {"length"}, "1", "critical_n / L", "paper A",
             "paper A finds below 0.06");
  to.derived("critical_ks_d", group, {"length"}, "1", "D at critical_n; if -1, where p is largest",
             "docs/mathematics.md 7a", "the largest gap between the two distributions over heads");
  to.derived("critical_ks_p", group, {"length"}, "1", "p = Q(D sqrt(nm / (n + m)))",
             "docs/mathematics.md 7a", "critical_n is the first N where this reaches the level");
  to.derived("critical_n_head", group, {"layer", "head", "length"}, "keys",
             "first N at which the head's mean distance and mean expected_distance_context differ "
             "by less than 2 standard errors; -1 if none",
             "docs/mathematics.md 7a", "critical_n of one head, comparable between models");
  to.derived("critical_fraction_head", group, {"layer", "head", "length"}, "1",
             "critical_n_head / L", "docs/mathematics.md 7a",
             "share of the context that the head can use");
}

void declare_separability(Declarations& to) {
  const std::string group = "separability";
  to.rows("separability", group, "#{i in I_N : ||a_i x_i - s|| < r} / N, r = min over the others",
          "paper A, D3.2 and D3.3",
          "share of the N keys that stand apart from every key outside; paper A finds 0.7 to 0.85");
  to.rows("separability_lower", group, "#{i in I_N : xi_i < r} / N",
          "docs/mathematics.md 3, deterministic", "never above separability");
  to.rows("separability_model_lower", group, "mean over I_N of max(0, Chebyshev, McDiarmid)",
          "docs/mathematics.md 3, T2v", "bound for random vectors: compare with separability_null");
  to.rows("separability_model_upper", group, "mean over I_N of exp(-((mu_i - r)+)^2 / (2 v_i^2))",
          "docs/mathematics.md 3, T2v", "bound for random vectors: compare with separability_null");
  to.rows("separability_lower_paper", group, "1 - sum over I_N of xi_i / (r N)", "paper A, Thm 2",
          "the lower bound as printed: valid, mostly negative");
  to.rows("separability_upper_paper", group, "mean over I_N of exp(-(r - xi_i)^2 / (16 M^2))",
          "paper A, Thm 2", "the upper bound as printed: not valid");
  to.rows("separability_null", group, "separability with random points in place of x",
          "docs/mathematics.md 7a",
          "what the same weights give on random vectors: separability near it tells nothing");
}

void declare_coverage(Declarations& to, bool own_separability) {
  const std::string group = "coverage";
  if (own_separability) {
    to.rows("separability", group, "as in group separability", "paper A, D3.2", "",
            MetricKind::hidden);
  }
  const std::vector<std::string> dims{"layer", "length", "top_n"};
  to.derived("union_coverage", group, dims, "1", "|union of D_h| / |union of I_h| over the heads h",
             "docs/mathematics.md 7a",
             "share of all selected keys that at least one head of the layer tells apart");
  to.derived("union_coverage_independent", group, dims, "1",
             "mean over the union of 1 - product over h of (1 - p_h)", "docs/mathematics.md 7a",
             "what independent heads with these ratios would cover");
  to.derived("union_coverage_paper", group, dims, "1", "1 - (1 - mean p)^H", "paper A, section 4",
             "what independent heads would cover if all selected the same keys");
  to.derived("top_overlap", group, {"layer", "head"}, "1",
             "largest mean Jaccard overlap of the top 10 keys, ties with the 11th left out, with "
             "another head of the layer",
             "docs/mathematics.md 7a", "near 1: another head selects the same keys");
  to.derived("top_overlap_partner", group, {"layer", "head"}, "head", "the head of top_overlap",
             "docs/mathematics.md 7a", "the head that selects most nearly the same keys");
}

}  // namespace

std::vector<MetricInfo> selection_metrics(const MeasureOptions& options, SelectionGroups groups) {
  Declarations declarations;
  if (groups.distance) declare_distance(declarations, options);
  if (groups.separability) declare_separability(declarations);
  if (groups.coverage) declare_coverage(declarations, !groups.separability);
  return declarations.list;
}

}  // namespace headgauge
