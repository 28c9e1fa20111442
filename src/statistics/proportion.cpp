#include "statistics/proportion.hpp"

#include <boost/math/distributions/binomial.hpp>

namespace headgauge {

Interval proportion_interval(Index hits, Index trials, double level) {
  check_level("the level of an interval", level);
  if (trials < 1) return {};
  using Binomial = boost::math::binomial_distribution<double>;
  const auto n = static_cast<double>(trials), k = static_cast<double>(hits);
  return {Binomial::find_lower_bound_on_p(n, k, level / 2),
          Binomial::find_upper_bound_on_p(n, k, level / 2)};
}

}  // namespace headgauge
