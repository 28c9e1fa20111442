// Early-warning claims: whether changes of heads in the first half of a text predict the loss in
// the second, and whether both signs occur together (docs/reproduce.md).
#include <algorithm>

#include "headgauge/catalogue.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/early_warning.hpp"
#include "reproduce/judgement.hpp"

namespace headgauge {
namespace {

// `stream` selects the random numbers. With `either` a growth may warn, too.
void fall_warns(Evidence& found, const std::string& what, const char* fall, std::uint32_t stream,
                bool either = false) {
  const LabelledArray* falls = found.results.metric(fall);
  found.set({{"tokens", kFewestPieces * kShortestPiece},
             {"fewest_pieces", kFewestPieces},
             {"shortest", kShortestPiece}});
  found.set_word("what", what);
  found.set_word("fall", fall);
  found.need(falls != nullptr, "pieces");
  const std::vector<double>& first = found.results.require_metric(metric::loss_first_half).values;
  const auto rise = less(found.results.require_metric(metric::loss_second_half).values, first);
  const RankCorrelation partial = partial_rank_correlation(falls->values, rise, first, 0, stream);
  judge_correlation(found, partial);
  if (either && partial.high < 0) found.verdict = Verdict::holds;
  if (either && partial.low <= -found.threshold("weak") && partial.high >= 0) {
    found.verdict = Verdict::cannot_tell;
  }
  const RankCorrelation plain = rank_correlation(falls->values, rise, 0, stream);
  found.set({{"plain", plain.value},
             {"piece_tokens", found.results.settings.value("piece_tokens", kUndefined)},
             {"fall_median", median_of(falls->values)},
             {"rise_median", median_of(rise)}});
  found.set("plain", Interval{plain.low, plain.high});
}

}  // namespace

void entropy_warns(Evidence& found) {
  fall_warns(found, "entropy", metric::entropy_fall, 0x77656e74, true);
}

void entropy_grows_where_separability_falls(Evidence& found) {
  const auto positions = found.numbers("position");
  const auto n = judged_top_n(found.results);
  const auto before =
      positions.empty() ? positions.end() : std::ranges::find(positions, positions.back() / 2);
  std::vector<double> growths, falls;
  if (before != positions.end() && n) {
    const auto at = [&](const char* metric, Index position) {
      return found.of_heads(twin_by_position(metric), {{"position", position}, {"top_n", *n}},
                            Heads::without_window);
    };
    const Index first = before - positions.begin(), last = std::ssize(positions) - 1;
    const char* separability = metric::separability_excess;
    growths = less(at(metric::entropy_normalized_with_sinks, last),
                   at(metric::entropy_normalized_with_sinks, first));
    falls = less(at(separability, first), at(separability, last));
    found.set({{"first", positions.back() / 2}, {"last", positions.back()}});
  }
  constexpr std::uint32_t kStream = 0x77686561;
  judge_correlation(found, rank_correlation(growths, falls, 0, kStream));
  found.set({{"growth_median", median_of(growths)}, {"fall_median", median_of(falls)}});
}

void falling_separability_warns(Evidence& found) {
  fall_warns(found, "separability", metric::separability_fall, 0x77736570);
}

}  // namespace headgauge
