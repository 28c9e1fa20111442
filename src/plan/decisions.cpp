#include "plan/decisions.hpp"

#include <algorithm>

#include "statistics/student.hpp"

namespace headgauge {

std::size_t shown_below(std::span<const ByDocument> changes, double rise) {
  const auto failed = std::ranges::find_if(changes, [&](const ByDocument& change) {
    return !(t_test(change, rise, Tail::below).p <= kShown);
  });
  return static_cast<std::size_t>(failed - changes.begin());
}

double dealt_p(const ByDocument& own, std::span<const ByDocument> dealt) {
  const double change = mean(own);
  const auto as_low =
      std::ranges::count_if(dealt, [&](const ByDocument& other) { return mean(other) <= change; });
  return static_cast<double>(1 + as_low) / static_cast<double>(1 + dealt.size());
}

}  // namespace headgauge
