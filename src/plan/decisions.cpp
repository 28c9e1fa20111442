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

double dealt_p(double cost, std::span<const double> costs_of_dealt) {
  const auto as_low =
      std::ranges::count_if(costs_of_dealt, [&](double other) { return other <= cost; });
  return static_cast<double>(1 + as_low) / static_cast<double>(1 + costs_of_dealt.size());
}

bool stays_below(const Judged& change, const Allowances& allowed) {
  const auto below = [](const ByDocument& rises, double most) {
    return shown_below({&rises, 1}, most) == 1;
  };
  if (!below(change.text, allowed.text)) return false;
  if (!change.replay.empty() && !below(change.replay, allowed.replay)) return false;
  return std::ranges::all_of(change.answers,
                             [&](const ByDocument& task) { return below(task, allowed.answers); });
}

}  // namespace headgauge
