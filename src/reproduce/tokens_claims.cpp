// Paper B's claims on a model (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/claims.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/rates.hpp"
#include "statistics/rank_correlation.hpp"

namespace headgauge {

Claim model_rates(const Results& results) {
  Claim claim =
      claim_of("B", "model_rates", "BERT, slope against horizon",
               "No head of the model converges more slowly than n^-1/(2(1+H^2)), in mean or "
               "covariance.");
  claim.reading =
      "Subsamples of a finite text represent n tokens, and the whole text represents the limit: "
      "this gives rates near 1/2 if the text is long enough for the head.";
  claim.test = fmt::format(
      "The mean and the covariance are judged separately: does not hold where some head's rate is "
      "significantly below 1/(2(1+H^2)) (Student's t, Benjamini-Hochberg over the heads at {:g} "
      "%); holds where {:g} % of the heads are shown to be above that less {} ({:g} %); else "
      "cannot tell. Not tested with fewer than {} heads that have a rate.",
      100 * kFamilyLevel, 100 * kMostHeads, kRateMargin, 100 * kRateLevel, kFewestVotes);
  if (results.metric(experiment_metric("model", metric::rate_predicted)) == nullptr) {
    return not_tested(claim, not_measured("model"));
  }
  const Rates mean = rates_of(results, "model", "mean");
  const Rates covariance = rates_of(results, "model", "covariance");
  judge_both(mean, covariance, kFewestVotes, kMostHeads, "heads", claim);
  return claim;
}

Claim model_slower_heads_see_further(const Results& results) {
  Claim claim = claim_of("B", "model_slower_heads_see_further", "BERT, slope against horizon",
                         "Heads of a larger horizon converge more slowly.");
  claim.reading = "We use the rate of the covariance, which depends most on the horizon.";
  claim.test = fmt::format(
      "The 95 % bootstrap interval of the rank correlation of horizon and measured rate over the "
      "heads "
      "is below 0. Does not hold where it is above {}, which allows at most a weak dependence; "
      "else cannot tell. At least 16 heads.",
      -kWeakCorrelation);
  const LabelledArray* horizon = results.metric(experiment_metric("model", metric::horizon));
  const LabelledArray* rate = results.metric(experiment_metric("model", metric::rate_covariance));
  const LabelledArray* mean = results.metric(experiment_metric("model", metric::rate_mean));
  if (horizon == nullptr || rate == nullptr || mean == nullptr) {
    return not_tested(claim, not_measured("model"));
  }
  constexpr std::uint32_t kPair = 0x72657072;  // a separate random stream
  const RankCorrelation found = rank_correlation(horizon->values, rate->values, 0, kPair);
  if (std::isnan(found.value) || std::isnan(found.low) || std::isnan(found.high)) {
    return not_tested(
        claim, fmt::format("{} heads have both values; 16 heads with different values are needed.",
                           found.pairs));
  }
  const RankCorrelation of_mean = rank_correlation(horizon->values, mean->values, 0, kPair + 1);
  claim.verdict = verdict_of_correlation({-found.high, -found.low});
  claim.measured = fmt::format(
      "Over {} heads the rank correlation is {:.2f} ({:.2f} to {:.2f}), of the mean's rate {}.",
      found.pairs, found.value, found.low, found.high, shown(of_mean.value));
  claim.facts = {{"rank_correlation", found.value},
                 {"low", found.low},
                 {"high", found.high},
                 {"heads", static_cast<double>(found.pairs)},
                 {"rank_correlation_mean", of_mean.value}};
  return claim;
}

std::vector<Claim> tokens_claims(const Results& results) {
  return {gaussian_mean_rate(results),
          gaussian_covariance_rate(results),
          horizon_slows_down(results),
          sphere_rates(results),
          ball_rate(results),
          hardmax_is_logarithmic(results),
          model_rates(results),
          model_slower_heads_see_further(results),
          model_converges_with_random_keys(results),
          model_converges_with_window(results),
          error_constant_predicts(results)};
}

}  // namespace headgauge
