// Paper B's token complexity, applied to a whole model whose heads see random keys
// (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/rates.hpp"
#include "statistics/rank_correlation.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

// The divergence of the predictions for each number of random keys added to one window, in batches
// of rows of the second half of the context. The rows of a batch see `others` keys outside the
// window on average.
struct Divergence {
  struct Batch {
    double others = 0;
    std::vector<double> value;
  };
  std::vector<double> numbers;
  std::vector<Batch> batches;
};

Divergence divergence_of(const LabelledArray& kl, Index window) {
  const auto keys = kl.dim("all_heads_random").numbers();
  const auto lengths = kl.dim("all_heads_length").numbers();
  const double seen = kl.dim("all_heads_window").numbers()[window];
  Divergence found{{keys.begin(), keys.end()}, {}};
  // Converts means over all rows up to L to means over the rows after the previous length.
  for (Index l = 1; l < std::ssize(lengths); ++l) {
    const double before = lengths[l - 1], last = lengths[l];
    Divergence::Batch batch{(before + 1 + last) / 2 - seen, {}};
    for (Index n = 0; n < std::ssize(keys); ++n) {
      batch.value.push_back((last * kl({window, n, l}) - before * kl({window, n, l - 1})) /
                            (last - before));
    }
    found.batches.push_back(std::move(batch));
  }
  return found;
}

// The exponents of the divergence of each batch in n, up to `most`.
struct Exponents {
  std::vector<double> all;   // by least squares; undefined with fewer than 4 points
  std::vector<double> last;  // between the last two points
};

// n keys drawn from m without replacement have the variance of 1/(1/n - 1/m) keys drawn with
// replacement.
Exponents exponents_of(const Divergence& divergence, double most) {
  Exponents exponents;
  for (const auto& [others, value] : divergence.batches) {
    std::vector<double> x, y;
    for (Index n = 0; n < std::ssize(value); ++n) {
      if (divergence.numbers[n] > most) continue;
      x.push_back(1 / (1 / divergence.numbers[n] - 1 / others));
      y.push_back(value[n]);
    }
    const auto power = power_of(x, y);
    if (!power) continue;
    exponents.all.push_back(power->value);
    const Index end = std::ssize(x) - 1;
    exponents.last.push_back(std::log(y[end] / y[end - 1]) / std::log(x[end] / x[end - 1]));
  }
  return exponents;
}

// Describes, in a sentence and in facts, what paper B's bound and the measured rates imply for the
// divergence, which is quadratic in small errors of the heads.
std::string add_rates(const Results& results, Claim& claim) {
  const LabelledArray* predicted =
      results.metric(experiment_metric("model", metric::rate_predicted));
  const LabelledArray* measured = results.metric(experiment_metric("model", metric::rate_mean));
  if (predicted == nullptr || measured == nullptr) return {};
  const std::vector<double> bounds = finite_values(predicted->values);
  const std::vector<double> rates = finite_values(measured->values);
  if (bounds.empty() || rates.empty()) return {};
  const double slowest = -2 * std::ranges::min(bounds), usual = -2 * median(rates);
  claim.facts.push_back({"exponent_of_slowest_bound", slowest});
  claim.facts.push_back({"exponent_of_median_rate", usual});
  return fmt::format(
      " The measured rate of the median head would give n^{:.2f}, paper B's bound on the slowest "
      "head asks for n^{:.2f}.",
      usual, slowest);
}

Claim falls_with_keys(const Results& results, const Thresholds& thresholds, Index window) {
  Claim claim;
  const LabelledArray* kl = results.metric(experiment_metric("all_heads", metric::kl));
  if (kl == nullptr) {
    return not_tested(
        "No model predicted a next token with random keys: give "
        "TokensOptions::model, a causal model and its head.");
  }
  const double longest = kl->dim("all_heads_length").numbers().back();
  const Divergence divergence = divergence_of(*kl, window);
  const Exponents exponents = exponents_of(divergence, longest / 4);
  const MeanWithError exponent = mean_with_error(exponents.all);
  const double last_exponent = mean_with_error(exponents.last).value;
  const Interval interval = t_interval(exponent);
  if (std::isnan(interval.low)) {
    return not_tested(
        "There are fewer than 4 numbers of keys up to L/4: L of at least 128 has them.");
  }
  claim.verdict = verdict_of(place_of(interval, -HUGE_VAL, thresholds.at("exponent")));
  claim.facts = {{"exponent", exponent.value},
                 {"low", interval.low},
                 {"high", interval.high},
                 {"exponent_of_last_doubling", last_exponent}};
  std::vector<double> mean;
  for (Index n = 0; n < std::ssize(divergence.numbers); ++n) {
    double sum = 0;
    for (const auto& batch : divergence.batches) sum += batch.value[n];
    mean.push_back(sum / static_cast<double>(divergence.batches.size()));
    claim.facts.push_back({fmt::format("kl_{:g}", divergence.numbers[n]), mean.back()});
  }
  const std::string rates = add_rates(results, claim);
  const LabelledArray& change =
      results.require_metric(experiment_metric("all_heads", metric::loss_change));
  const Index most = std::ssize(mean) - 1, last = change.dim("all_heads_length").size() - 1;
  claim.facts.push_back({"loss_change_first", change({window, 0, last})});
  claim.facts.push_back({"loss_change_last", change({window, most, last})});
  claim.measured = fmt::format(
      "Up to n = L/4 KL goes as n^{:.2f} ({:.2f} to {:.2f}), over the last doubling as n^{:.2f}: "
      "from n = {:g} to {:g} of L = {:g} it goes from {} to {} nats, and the loss over the whole "
      "text is {} to {} higher.",
      exponent.value, interval.low, interval.high, last_exponent, divergence.numbers.front(),
      divergence.numbers.back(), longest, shown(mean.front()), shown(mean.back()),
      shown(change({window, 0, last})), shown(change({window, most, last})));
  claim.measured += rates;
  return claim;
}

}  // namespace

Claim model_converges_with_random_keys(const Results& results, const Thresholds& thresholds) {
  return falls_with_keys(results, thresholds, 0);
}

Claim model_converges_with_window(const Results& results, const Thresholds& thresholds) {
  return falls_with_keys(results, thresholds, 1);
}

Claim error_constant_predicts(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const LabelledArray* constant =
      results.metric(experiment_metric("model", metric::error_constant));
  const LabelledArray* kl = results.metric(experiment_metric("each_head", metric::kl));
  if (constant == nullptr || kl == nullptr) {
    return not_tested(
        "No model predicted a next token with random keys in one head: give "
        "TokensOptions::model, a causal model and its head.");
  }
  constexpr std::uint32_t kPair = 0x6572636f;  // a separate random stream
  const RankCorrelation found = rank_correlation(constant->values, kl->values, 0, kPair);
  if (std::isnan(found.low) || std::isnan(found.high)) {
    return not_tested(
        fmt::format("{} heads have both values; {} heads with different values are needed.",
                    found.pairs, kFewestPairs));
  }
  claim.verdict = verdict_of_correlation({found.low, found.high}, thresholds.at("weak"));
  claim.facts = {{"rank_correlation", found.value},
                 {"low", found.low},
                 {"high", found.high},
                 {"heads", static_cast<double>(found.pairs)}};
  const auto with = [&](const std::string& metric) {
    const LabelledArray* other = results.metric(metric);
    if (other == nullptr) return kUndefined;
    return rank_correlation(constant->values, other->values, 0, kPair).value;
  };
  const double loss = with(experiment_metric("each_head", metric::loss_change)),
               output = with(experiment_metric("each_head", metric::output_change));
  claim.facts.push_back({"rank_correlation_loss_change", loss});
  claim.facts.push_back({"rank_correlation_output_change", output});
  claim.measured = fmt::format(
      "Over {} heads the rank correlation with KL is {:.2f} ({:.2f} to {:.2f}), with the change of "
      "the loss {}, with that of the head's own output {}.",
      found.pairs, found.value, found.low, found.high, shown(loss), shown(output));
  return claim;
}

}  // namespace headgauge
