// Paper B's claims on a model (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/rates.hpp"
#include "statistics/rank_correlation.hpp"

namespace headgauge {

Claim model_rates(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  if (results.metric(experiment_metric("model", metric::rate_predicted)) == nullptr) {
    return not_tested(not_measured("model"));
  }
  const Rates mean = rates_of(results, "model", "mean", thresholds.at("tolerance"));
  const Rates covariance = rates_of(results, "model", "covariance", thresholds.at("tolerance"));
  judge_both(mean, covariance, kFewestVotes, thresholds.at("heads"), "heads", claim);
  return claim;
}

Claim model_slower_heads_see_further(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const LabelledArray* horizon = results.metric(experiment_metric("model", metric::horizon));
  const LabelledArray* rate = results.metric(experiment_metric("model", metric::rate_covariance));
  const LabelledArray* mean = results.metric(experiment_metric("model", metric::rate_mean));
  if (horizon == nullptr || rate == nullptr || mean == nullptr) {
    return not_tested(not_measured("model"));
  }
  constexpr std::uint32_t kPair = 0x72657072;  // a separate random stream
  const RankCorrelation found = rank_correlation(horizon->values, rate->values, 0, kPair);
  if (std::isnan(found.value) || std::isnan(found.low) || std::isnan(found.high)) {
    return not_tested(fmt::format(
        "{} heads have both values; 16 heads with different values are needed.", found.pairs));
  }
  const RankCorrelation of_mean = rank_correlation(horizon->values, mean->values, 0, kPair + 1);
  claim.verdict = verdict_of_correlation({-found.high, -found.low}, thresholds.at("weak"));
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

}  // namespace headgauge
