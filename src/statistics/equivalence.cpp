#include "statistics/equivalence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "statistics/ranks.hpp"
#include "statistics/student.hpp"
#include "statistics/wilcoxon.hpp"

namespace headgauge {
namespace {

// P of the null `null`. Of values that all lie on it nothing speaks against it.
double one_sided_p(std::span<const double> values, double null, Tail tail, PairedTest test) {
  if (test == PairedTest::student) return t_test(values, null, tail).p;
  const WilcoxonTest found = wilcoxon_test(values, null, tail);
  return found.differences == 0 ? 1 : found.p;
}

}  // namespace

Equivalence equivalence_test(std::span<const double> values, double low, double high,
                             PairedTest test) {
  if (!(low < high)) {
    throw UsageError(fault("an equivalence test", "a low end below the high one",
                           fmt::format("{} and {}", low, high), ""));
  }
  const std::vector<double> finite = finite_values(values);
  Equivalence found;
  found.values = static_cast<int>(finite.size());
  if (found.values < 2) return found;
  found.estimate = test == PairedTest::student ? mean_with_error(finite).value : median(finite);
  found.p_low = one_sided_p(finite, low, Tail::above, test);
  found.p_high = one_sided_p(finite, high, Tail::below, test);
  found.p = std::max(found.p_low, found.p_high);
  return found;
}

Equivalence relative_equivalence_test(std::span<const double> first, std::span<const double> second,
                                      double margin, PairedTest test) {
  check_pairs(first, second);
  if (!(margin > 0)) {
    throw UsageError(
        fault("an equivalence test", "a margin above 0", fmt::format("{}", margin), ""));
  }
  std::vector<double> logs;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!std::isfinite(first[i]) || !std::isfinite(second[i])) continue;
    if (first[i] <= 0 || second[i] <= 0) return {};
    logs.push_back(std::log(first[i]) - std::log(second[i]));
  }
  Equivalence found = equivalence_test(logs, -std::log1p(margin), std::log1p(margin), test);
  found.estimate = std::exp(found.estimate);
  return found;
}

}  // namespace headgauge
