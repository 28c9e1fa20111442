// Whether what heads do within the first half of a text forecasts the loss in the second
// (docs/reproduce.md).
#include <fmt/format.h>

#include <cmath>

#include "headgauge/claims.hpp"
#include "reproduce/early_warning.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/scan_values.hpp"
#include "statistics/rank_correlation.hpp"
#include "statistics/ranks.hpp"

namespace headgauge {
namespace {

// `what` falls by the metric `fall`; `stream` names the random numbers.
Claim fall_warns(Claim claim, const Results& results, const std::string& what, const char* fall,
                 std::uint32_t stream) {
  claim.reading =
      "The text in pieces of 2L tokens, each seen by itself. The fall is between rows L/4 to L/2 "
      "and rows L/2 to L, in the mean over the heads; the rise of the loss is from tokens up to L "
      "to tokens L to 2L. A high loss mostly comes down by itself, so that the loss up to L is "
      "held fixed. Neighbouring pieces count as independent. Entropy and separability are judged "
      "each by itself.";
  claim.test = fmt::format(
      "The 95 % bootstrap interval of the partial rank correlation of fall and rise over the "
      "pieces, given the loss up to L, is above 0. Does not hold where it is below {}, so that no "
      "more than a weak warning is left; else cannot tell. At least {} pieces of {} tokens.",
      kWeakCorrelation, kFewestPieces, kShortestPiece);
  const LabelledArray* falls = results.metric(fall);
  if (falls == nullptr) {
    return not_tested(
        claim, fmt::format("No pieces of the text were measured one by one ({}, loss_first_half, "
                           "loss_second_half), as a scan does not: reproduce_limits() with "
                           "LimitsOptions::cut does, of a model with a loss and a text of {} "
                           "tokens or more ({} pieces of {}).",
                           fall, kFewestPieces * kShortestPiece, kFewestPieces, kShortestPiece));
  }
  const std::vector<double>& first = results.require_metric("loss_first_half").values;
  const std::vector<double>& second = results.require_metric("loss_second_half").values;
  std::vector<double> rise;
  for (std::size_t i = 0; i < first.size(); ++i) rise.push_back(second[i] - first[i]);
  const RankCorrelation partial = partial_rank_correlation(falls->values, rise, first, 0, stream);
  if (std::isnan(partial.low) || std::isnan(partial.high)) {
    return not_tested(claim, fmt::format("{} pieces have a fall of the {} and both losses, of "
                                         "which {} are needed that differ.",
                                         partial.pairs, what, kFewestPieces));
  }
  claim.verdict = verdict_of_correlation({partial.low, partial.high});
  const RankCorrelation plain = rank_correlation(falls->values, rise, 0, stream);
  const double tokens = results.settings.value("piece_tokens", kUndefined);
  const double fall_median = median(finite_values(falls->values));
  const double rise_median = median(finite_values(rise));
  claim.measured = fmt::format(
      "Over {} pieces of {:g} tokens the partial rank correlation is {:.2f} ({:.2f} to {:.2f}), "
      "without holding the loss fixed {:.2f} ({:.2f} to {:.2f}); the median fall of the {} is {}, "
      "the median rise of the loss {} nats.",
      partial.pairs, tokens, partial.value, partial.low, partial.high, plain.value, plain.low,
      plain.high, what, shown(fall_median), shown(rise_median));
  claim.facts = {{"partial_rank_correlation", partial.value},
                 {"low", partial.low},
                 {"high", partial.high},
                 {"rank_correlation", plain.value},
                 {"rank_correlation_low", plain.low},
                 {"rank_correlation_high", plain.high},
                 {"pieces", static_cast<double>(partial.pairs)},
                 {"piece_tokens", tokens},
                 {"fall_median", fall_median},
                 {"rise_median", rise_median}};
  return claim;
}

}  // namespace

Claim falling_entropy_warns(const Results& results) {
  return fall_warns(
      claim_of("A", "falling_entropy_warns", "Early warning",
               "A fall of the heads' entropy towards L forecasts a rise of the loss from L to 2L."),
      results, "entropy", "entropy_fall", 0x77656e74);
}

Claim falling_separability_warns(const Results& results) {
  return fall_warns(claim_of("A", "falling_separability_warns", "Early warning",
                             "A fall of the heads' separability towards L forecasts a rise of the "
                             "loss from L to 2L."),
                    results, "separability", "separability_fall", 0x77736570);
}

}  // namespace headgauge
