#include <algorithm>
#include <utility>

#include "scan/converge_output.hpp"

namespace headgauge {
namespace {

constexpr const char* kSource = "paper B; docs/mathematics.md 5a";

MetricInfo of_heads(const char* name, const char* group, std::vector<std::string> dims,
                    const char* unit, const char* formula, const char* meaning,
                    const char* source = kSource) {
  return {name, group, MetricKind::row_longest, std::move(dims), unit, formula, source, meaning};
}

MetricInfo of_all(const char* name, const char* group, std::vector<std::string> dims,
                  const char* unit, const char* formula, const char* meaning) {
  return {name, group,   MetricKind::derived,      std::move(dims),
          unit, formula, "docs/mathematics.md 5a", meaning};
}

std::vector<MetricInfo> declare() {
  const std::vector<std::string> none, tokens{"tokens"}, kept{"tolerance", "sampler"};
  const std::vector<std::string> correlation_dims{"capacity_metric", "convergence_metric"};
  return {
      of_heads("horizon", "convergence", none, "1", "scale sqrt(lambda_max(Cov(q) Cov(k)))",
               "how far the logits spread over the tokens; above 2 the output settles slowly",
               "paper B; docs/mathematics.md D5.3"),
      of_heads("horizon_paper", "convergence", none, "1", "sqrt(lambda_max(Cov(q) Cov(k)))",
               "the horizon as the paper's code has it, without the scale",
               "paper B, public code; docs/mathematics.md D5.3"),
      of_heads("rate_predicted", "convergence", none, "1", "1/(2 (1 + H^2))",
               "rate at which the bound on the errors falls; softmax(c l) only",
               "paper B; docs/mathematics.md T5.2"),
      of_heads("error_constant", "convergence", none, "1",
               "mean of n sum_j a_j^2 ||v_j - o||^2 / ||o||^2",
               "n times the squared relative error of n keys drawn with replacement",
               "docs/mathematics.md 5, bridge"),
      of_heads("error_mean", "convergence", tokens, "1", "mean of ||mhat - m||_2 / sqrt(tr C)",
               "error of the outputs' mean over n tokens"),
      of_heads("error_mean_absolute", "convergence", tokens, "1", "mean of ||mhat - m||_2",
               "the same, as in the paper's figures"),
      of_heads("rate_mean", "convergence", none, "1",
               "minus the slope of log error_mean_absolute on log n",
               "the error of the mean falls as n^-rate"),
      of_heads("points_under_floor_mean", "convergence", none, "points",
               "number of errors that rounding may make",
               "points of error_mean left out of its rate"),
      of_heads("error_covariance", "convergence", tokens, "1", "mean of ||Chat - C||_F / ||C||_F",
               "error of the outputs' covariance over n tokens"),
      of_heads("error_covariance_absolute", "convergence", tokens, "1", "mean of ||Chat - C||_F",
               "the same, as in the paper's figures"),
      of_heads("rate_covariance", "convergence", none, "1",
               "minus the slope of log error_covariance_absolute on log n",
               "the error of the covariance falls as n^-rate"),
      of_heads("points_under_floor_covariance", "convergence", none, "points",
               "number of errors that rounding may make",
               "points of error_covariance left out of its rate"),
      of_heads("tokens_for_error", "budget", kept, "tokens",
               "min k with mean of ||o_k - o||/||o|| <= tolerance",
               "the fewest keys that keep the head's output; 8: 8 or fewer",
               "docs/mathematics.md 5a"),
      of_heads("budget_keys", "budget", kept, "tokens",
               "max of tokens_for_error over the heads that share keys",
               "what has to be kept for a group of heads", "docs/mathematics.md 5a"),
      of_all("cache_bytes_by_layer", "budget", {"layer", "cache"}, "bytes",
             "sum over kv heads of (d_k + d_v) bytes min(budget, L)/L",
             "key-value cache per token of context, full and under the budgets"),
      of_all("cache_bytes", "budget", {"cache"}, "bytes", "sum of cache_bytes_by_layer",
             "the same of the whole model"),
      of_all("rank_correlation", "correlation_dims", correlation_dims, "1",
             "Spearman's rho over the heads", "whether heads that select poorly need more context"),
      of_all("rank_correlation_low", "correlation_dims", correlation_dims, "1",
             "2.5 % point of 2000 resamples", "lower end of its interval by bootstrap over heads"),
      of_all("rank_correlation_high", "correlation_dims", correlation_dims, "1",
             "97.5 % point of 2000 resamples", "upper end of its interval by bootstrap over heads"),
  };
}

}  // namespace

const std::vector<MetricInfo>& convergence_metrics() {
  static const std::vector<MetricInfo> metrics = declare();
  return metrics;
}

LabelledArray& add_declared(Results& results, std::string_view name) {
  const auto info = std::ranges::find(convergence_metrics(), name, &MetricInfo::name);
  std::vector<std::string> dims = info->dims;
  if (info->kind == MetricKind::row_longest) dims.insert(dims.begin(), {"layer", "head"});
  return results.add_metric(info->name, std::move(dims), info->unit);
}

}  // namespace headgauge
