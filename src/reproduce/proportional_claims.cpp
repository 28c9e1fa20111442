// Paper A's claim on sets that grow with the context (docs/reproduce.md).
#include <algorithm>
#include <cmath>

#include "headgauge/metric_names.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/judgement.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

constexpr double kShare = 0.1;        // share that is judged
constexpr double kFromContext = 128;  // in shorter contexts a tenth of the keys is only a handful

Pick judged_share(Evidence& found) {
  const auto judged = find_label(found.results, "top_share", kShare);
  found.need(judged.has_value(), "share");
  found.set("share", kShare);
  return {"top_share", *judged};
}

}  // namespace

void proportional_margin_collapses(Evidence& found) {
  const Pick share = judged_share(found);
  judge_powers(found, metric::margin_at_share, share, -HUGE_VAL, found.threshold("exponent"));
}

// Compares the first bin whose rows have at least kFromContext keys with the last bin.
void proportional_separability_falls(Evidence& found) {
  const Pick share = judged_share(found);
  std::vector<double> first, last;
  for (const HeadName& head : found.heads(Heads::without_window)) {
    const Growth growth =
        growth_of(found.results, metric::separability_excess_at_share, head, share);
    const auto from = std::ranges::lower_bound(growth.context, kFromContext);
    const auto place = from - growth.context.begin();
    if (place + 1 >= std::ssize(growth.value)) continue;
    first.push_back(growth.value[place]);
    last.push_back(growth.value.back());
  }
  found.set("heads", first.size());
  found.need(std::ssize(first) >= kFewestVotes, "bins");
  const TTest change = paired_t_test(last, first);
  judge_estimate(found,
                 {.value = change.difference,
                  .standard_error = change.standard_error,
                  .degrees_of_freedom = change.degrees_of_freedom},
                 -HUGE_VAL, found.threshold("change"));
  const bool has_excess = t_interval(mean_with_error(first)).low > 0;
  if (!has_excess) found.verdict = Verdict::cannot_tell;
  found.set_word("nothing", has_excess ? "" : "There is no excess to lose. ");
  found.set({{"first", mean_with_error(first).value}, {"last", mean_with_error(last).value}});
}

}  // namespace headgauge
