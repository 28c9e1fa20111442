// Early-warning claims: whether changes of heads in the first half of a text predict the loss in
// the second, and whether both signs occur together (docs/reproduce.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/ranks.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/early_warning.hpp"
#include "reproduce/judgement.hpp"
#include "reproduce/scan_values.hpp"
#include "statistics/rank_correlation.hpp"

namespace headgauge {
namespace {

// `stream` selects the random numbers. With `either` a growth may warn, too.
Claim fall_warns(const Results& results, const Thresholds& thresholds, const std::string& what,
                 const char* fall, std::uint32_t stream, bool either = false) {
  Claim claim;
  const double weak = thresholds.at("weak");
  const LabelledArray* falls = results.metric(fall);
  if (falls == nullptr) {
    return not_tested(fmt::format(
        "No pieces of the text were measured one by one ({}, loss_first_half, "
        "loss_second_half), as a scan does not: reproduce_limits() with LimitsOptions::cut "
        "does that for a model with a loss and a text of {} tokens or more ({} pieces of {}).",
        fall, kFewestPieces * kShortestPiece, kFewestPieces, kShortestPiece));
  }
  const std::vector<double>& first = results.require_metric(metric::loss_first_half).values;
  const std::vector<double>& second = results.require_metric(metric::loss_second_half).values;
  std::vector<double> rise;
  for (std::size_t i = 0; i < first.size(); ++i) rise.push_back(second[i] - first[i]);
  const RankCorrelation partial = partial_rank_correlation(falls->values, rise, first, 0, stream);
  if (std::isnan(partial.low) || std::isnan(partial.high)) {
    return not_tested(fmt::format(
        "{} pieces have a fall of the {} and both losses; {} with different values are needed.",
        partial.pairs, what, kFewestPieces));
  }
  claim.verdict = verdict_of_correlation({partial.low, partial.high}, weak);
  if (either && partial.high < 0) claim.verdict = Verdict::holds;
  if (either && partial.low <= -weak && partial.high >= 0) {
    claim.verdict = Verdict::cannot_tell;
  }
  const RankCorrelation plain = rank_correlation(falls->values, rise, 0, stream);
  const double tokens = results.settings.value("piece_tokens", kUndefined);
  const double fall_median = median(finite_values(falls->values));
  const double rise_median = median(finite_values(rise));
  claim.measured = fmt::format(
      "Over {} pieces of {:g} tokens the partial rank correlation is {:.2f} ({:.2f} to {:.2f}), "
      "without holding the loss fixed {:.2f} ({:.2f} to {:.2f}); the median fall of the {} is {}, "
      "the loss changes by {} nats in the median.",
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

Claim entropy_warns(const Results& results, const Thresholds& thresholds) {
  return fall_warns(results, thresholds, "entropy", metric::entropy_fall, 0x77656e74, true);
}

Claim entropy_grows_where_separability_falls(const Results& results, const Thresholds& thresholds) {
  Claim claim;
  const auto positions = numbers(results, "position");
  const auto n = judged_top_n(results);
  const Index last = std::ssize(positions) - 1;
  const auto before = std::ranges::find(positions, last < 0 ? 0 : positions.back() / 2);
  std::vector<double> growths, falls;
  for (const HeadName& head : before != positions.end() && n
                                  ? heads_of(results, Heads::without_window)
                                  : std::vector<HeadName>()) {
    const auto change = [&](const char* metric) {
      const auto at = [&](Index position) {
        return value_at(results, twin_by_position(metric), head, "position", position,
                        {"top_n", *n})
            .value_or(kUndefined);
      };
      return at(last) - at(before - positions.begin());
    };
    growths.push_back(change(metric::entropy_normalized_with_sinks));
    falls.push_back(-change(metric::separability_excess));
  }
  constexpr std::uint32_t kStream = 0x77686561;
  const RankCorrelation found = rank_correlation(growths, falls, 0, kStream);
  if (std::isnan(found.low) || std::isnan(found.high)) {
    return not_tested(
        fmt::format("{} heads of a causal model have both in two octaves of rows; {} with "
                    "different values are needed: scan with ScanOptions::measures = "
                    "weights,separability and MeasureOptions::top_n = 20.",
                    found.pairs, kFewestPairs));
  }
  claim.verdict = verdict_of_correlation({found.low, found.high}, thresholds.at("weak"));
  const double growth = median(finite_values(growths)), fall = median(finite_values(falls));
  claim.measured = fmt::format(
      "Over {} heads the rank correlation is {:.2f} ({:.2f} to {:.2f}); from rows up to {:g} to "
      "rows up to {:g} the median head's entropy grows by {:+.3f} and its separability falls by "
      "{:+.3f}.",
      found.pairs, found.value, found.low, found.high, positions.back() / 2, positions.back(),
      growth, fall);
  claim.facts = {{"rank_correlation", found.value},
                 {"low", found.low},
                 {"high", found.high},
                 {"heads", static_cast<double>(found.pairs)},
                 {"growth_median", growth},
                 {"fall_median", fall}};
  return claim;
}

Claim falling_separability_warns(const Results& results, const Thresholds& thresholds) {
  return fall_warns(results, thresholds, "separability", metric::separability_fall, 0x77736570);
}

}  // namespace headgauge
