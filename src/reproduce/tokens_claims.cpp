// Paper B's claims on a model: its rates, and its predictions when heads see random keys
// (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"

namespace headgauge {
namespace {

// The divergence of the predictions for each number of random keys added to one window, in a batch
// of rows of the second half of the context. The rows of a batch see `others` keys outside the
// window on average.
struct Batch {
  double others = 0;
  std::vector<double> value;
};

std::vector<Batch> batches_of(const LabelledArray& kl, Index window) {
  const Index keys = kl.dim("all_heads_random").size();
  const auto lengths = kl.dim("all_heads_length").numbers();
  const double seen = kl.dim("all_heads_window").numbers()[window];
  std::vector<Batch> batches;
  // Converts means over all rows up to L to means over the rows after the previous length.
  for (Index l = 1; l < std::ssize(lengths); ++l) {
    const double before = lengths[l - 1], last = lengths[l];
    Batch& batch = batches.emplace_back((before + 1 + last) / 2 - seen);
    for (Index n = 0; n < keys; ++n) {
      batch.value.push_back((last * kl({window, n, l}) - before * kl({window, n, l - 1})) /
                            (last - before));
    }
  }
  return batches;
}

// The exponents of the divergence of each batch in n, up to `most`.
struct Exponents {
  std::vector<double> all;   // by least squares; undefined with fewer than 4 points
  std::vector<double> last;  // between the last two points
};

// n keys drawn from m without replacement have the variance of 1/(1/n - 1/m) keys drawn with
// replacement.
Exponents exponents_of(const std::vector<Batch>& batches, std::span<const double> numbers,
                       double most) {
  Exponents exponents;
  for (const auto& [others, value] : batches) {
    std::vector<double> x, y;
    for (Index n = 0; n < std::ssize(value); ++n) {
      if (numbers[n] > most) continue;
      x.push_back(1 / (1 / numbers[n] - 1 / others));
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

// Says what paper B's bound and the measured rates imply for the divergence, which is quadratic in
// small errors of the heads.
void say_rates(Evidence& found) {
  const auto values_of = [&](const char* metric) {
    const LabelledArray* rates = found.results.metric(experiment_metric("model", metric));
    return rates == nullptr ? std::vector<double>() : finite_values(rates->values);
  };
  const auto bounds = values_of(metric::rate_predicted), rates = values_of(metric::rate_mean);
  if (bounds.empty() || rates.empty()) return;
  found.set({{"exponent_of_slowest_bound", -2 * std::ranges::min(bounds)},
             {"exponent_of_median_rate", -2 * median(rates)}});
  found.say("rates");
}

void falls_with_keys(Evidence& found, Index window) {
  const LabelledArray* measured = found.results.metric(experiment_metric("all_heads", metric::kl));
  found.need(measured != nullptr, "predictions");
  const LabelledArray& kl = *measured;
  const auto numbers = kl.dim("all_heads_random").numbers();
  const double longest = kl.dim("all_heads_length").numbers().back();
  const std::vector<Batch> batches = batches_of(kl, window);
  const Exponents exponents = exponents_of(batches, numbers, longest / 4);
  const MeanWithError exponent = mean_with_error(exponents.all);
  found.need(!std::isnan(t_interval(exponent).low), "keys");
  judge_estimate(found,
                 {.value = exponent.value,
                  .standard_error = exponent.standard_error,
                  .degrees_of_freedom = exponent.degrees_of_freedom},
                 -HUGE_VAL, found.threshold("exponent"));
  found.set("last_doubling", mean_with_error(exponents.last).value);
  for (Index n = 0; n < std::ssize(numbers); ++n) {
    double sum = 0;
    for (const Batch& batch : batches) sum += batch.value[n];
    const double mean = sum / static_cast<double>(batches.size());
    found.set({{fmt::format("kl_{:g}", numbers[n]), mean}, {"last", mean}});
    if (n == 0) found.set("first", mean);
  }
  const LabelledArray& change = found.of_experiment("all_heads", metric::loss_change);
  const Index most = std::ssize(numbers) - 1, last = change.dim("all_heads_length").size() - 1;
  found.set({{"length", longest},
             {"first_n", numbers.front()},
             {"last_n", numbers.back()},
             {"loss_change_first", change({window, 0, last})},
             {"loss_change_last", change({window, most, last})}});
  say_rates(found);
}

}  // namespace

void model_rates(Evidence& found) {
  judge_rates(found, "model", kFewestVotes, found.threshold("heads"));
}

void model_slower_heads_see_further(Evidence& found) {
  const auto& horizon = found.of_experiment("model", metric::horizon).values;
  constexpr std::uint32_t kPair = 0x72657072;  // a separate random stream
  const auto with = [&](const char* rate, std::uint32_t stream) {
    return rank_correlation(horizon, found.of_experiment("model", rate).values, 0, stream);
  };
  const RankCorrelation fall = with(metric::rate_covariance, kPair);
  found.set("of_mean", with(metric::rate_mean, kPair + 1).value);
  RankCorrelation growth = fall;
  growth.low = -fall.high;
  growth.high = -fall.low;
  judge_correlation(found, growth);
  found.set({{"low", fall.low}, {"high", fall.high}});
}

void model_converges_with_random_keys(Evidence& found) {
  falls_with_keys(found, 0);
}

void model_converges_with_window(Evidence& found) {
  falls_with_keys(found, 1);
}

void error_constant_predicts(Evidence& found) {
  const LabelledArray* constant =
      found.results.metric(experiment_metric("model", metric::error_constant));
  const auto with = [&](const char* metric) {
    constexpr std::uint32_t kPair = 0x6572636f;  // a separate random stream
    const LabelledArray* other = found.results.metric(experiment_metric("each_head", metric));
    if (other == nullptr) return RankCorrelation();
    return rank_correlation(constant->values, other->values, 0, kPair);
  };
  found.need(
      constant != nullptr && found.results.metric(experiment_metric("each_head", metric::kl)),
      "predictions");
  judge_correlation(found, with(metric::kl));
  found.set({{"with_loss", with(metric::loss_change).value},
             {"with_output", with(metric::output_change).value}});
}

}  // namespace headgauge
