#include "reproduce/judgement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "convergence/rate.hpp"
#include "headgauge/ranks.hpp"
#include "statistics/bootstrap.hpp"
#include "statistics/student.hpp"

namespace headgauge {

Place place_of(const Interval& interval, double low, double high) {
  if (std::isnan(interval.low) || std::isnan(interval.high)) return Place::open;
  if (interval.low >= low && interval.high <= high) return Place::inside;
  return interval.high < low || interval.low > high ? Place::outside : Place::open;
}

Place place_of(const Estimate& estimate, double low, double high) {
  return place_of(t_interval(mean_of(estimate)), low, high);
}

Verdict verdict_of(Place place) {
  if (place == Place::inside) return Verdict::holds;
  return place == Place::outside ? Verdict::does_not_hold : Verdict::cannot_tell;
}

Verdict verdict_of(std::span<const Place> places) {
  if (std::ranges::count(places, Place::outside) > 0) return Verdict::does_not_hold;
  return std::ranges::count(places, Place::open) > 0 ? Verdict::cannot_tell : Verdict::holds;
}

Verdict verdict_of_correlation(const Interval& interval, double weak) {
  if (interval.low > 0) return Verdict::holds;
  return interval.high < weak ? Verdict::does_not_hold : Verdict::cannot_tell;
}

std::optional<Estimate> power_of(std::span<const double> x, std::span<const double> y) {
  const RateFit fit = fit_rate(x, y, {}, 1);
  if (std::isnan(fit.rate)) return std::nullopt;
  return Estimate{.value = -fit.rate,
                  .standard_error = fit.standard_error,
                  .degrees_of_freedom = fit.degrees_of_freedom()};
}

Interval interval_of_median(const std::vector<double>& of_heads) {
  const auto median_of = [&](std::span<const Index> heads) {
    std::vector<double> drawn;
    for (const Index head : heads) drawn.push_back(of_heads[head]);
    return median(std::move(drawn));
  };
  return bootstrap_interval(std::ssize(of_heads), median_of, {.kind = BootstrapKind::percentile});
}

void HeadVotes::add(Place place) {
  if (place == Place::inside) ++yes;
  if (place == Place::outside) ++no;
  if (place == Place::open) ++open;
}

Verdict HeadVotes::verdict(double share) const {
  if (judged() < kFewestVotes) return Verdict::cannot_tell;
  if (yes >= share * all()) return Verdict::holds;
  return yes + open < share * all() ? Verdict::does_not_hold : Verdict::cannot_tell;
}

Claim not_tested(std::string why) {
  Claim claim;
  claim.verdict = Verdict::not_tested;
  claim.measured = std::move(why);
  return claim;
}

std::string too_few_points(std::string_view group) {
  return fmt::format(
      "No head has 4 points from L = 32 on: scan with ScanOptions::measures = {} and "
      "ScanOptions::lengths up to 256 or more.",
      group);
}

std::string shown(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.3g}", value);
}

}  // namespace headgauge
