#include "statistics/binomial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>

namespace headgauge {
namespace {

using Binomial = boost::math::binomial;

void check_counts(Index successes, Index trials) {
  if (successes >= 0 && successes <= trials) return;
  throw UsageError(fault("a share", "successes from 0 to the number of trials",
                         fmt::format("{} of {}", successes, trials), ""));
}

}  // namespace

ShareTest share_test(Index successes, Index trials, double expected, Tail tail) {
  check_counts(successes, trials);
  if (!(expected >= 0 && expected <= 1)) {
    throw UsageError(fault("a share", "a probability", fmt::format("{}", expected), ""));
  }
  if (trials == 0) return {};
  const auto k = static_cast<double>(successes), n = static_cast<double>(trials);
  const Binomial law(n, expected);
  const double below = cdf(law, k);
  const double above = successes == 0 ? 1 : cdf(complement(law, k - 1));
  ShareTest test;
  test.share = k / n;
  test.p = tail == Tail::above   ? above
           : tail == Tail::below ? below
                                 : std::min(1.0, 2 * std::min(below, above));
  return test;
}

Interval share_interval(Index successes, Index trials, double level) {
  check_counts(successes, trials);
  check_level("the level of an interval", level);
  if (trials == 0) return {};
  const auto k = static_cast<double>(successes), n = static_cast<double>(trials);
  return {successes == 0 ? 0 : Binomial::find_lower_bound_on_p(n, k, level / 2),
          successes == trials ? 1 : Binomial::find_upper_bound_on_p(n, k, level / 2)};
}

}  // namespace headgauge
