#include "reproduce/judgement.hpp"

#include <fmt/format.h>

#include <cmath>

#include "convergence/rate.hpp"

namespace headgauge {

const char* const kVotingRule =
    "Holds where 3/4 of the heads that can be judged do so; cannot tell where fewer than half of "
    "all heads, or fewer than 4, can be judged.";

Place place_of(const Estimate& estimate, double low, double high) {
  if (std::isnan(estimate.value)) return Place::open;
  const double error = std::isnan(estimate.standard_error) ? 0 : estimate.standard_error;
  const double from = estimate.value - kErrors * error, to = estimate.value + kErrors * error;
  if (from >= low && to <= high) return Place::inside;
  return to < low || from > high ? Place::outside : Place::open;
}

Verdict verdict_of(Place place) {
  if (place == Place::inside) return Verdict::holds;
  return place == Place::outside ? Verdict::does_not_hold : Verdict::cannot_tell;
}

std::optional<Estimate> power_of(std::span<const double> x, std::span<const double> y) {
  const RateFit fit = fit_rate(x, y, {}, 1);
  if (std::isnan(fit.rate)) return std::nullopt;
  return Estimate{-fit.rate, fit.standard_error};
}

void HeadVotes::add(Place place) {
  if (place == Place::inside) ++yes;
  if (place == Place::outside) ++no;
  if (place == Place::open) ++open;
}

Verdict HeadVotes::verdict() const {
  if (judged() < kFewestVotes || 2 * judged() < all()) return Verdict::cannot_tell;
  return yes >= kMostHeads * judged() ? Verdict::holds : Verdict::does_not_hold;
}

Claim claim_of(std::string paper, std::string name, std::string figure, std::string statement) {
  Claim claim;
  claim.paper = std::move(paper);
  claim.name = std::move(name);
  claim.figure = std::move(figure);
  claim.statement = std::move(statement);
  return claim;
}

Claim without_data(Claim claim, std::string why) {
  claim.verdict = Verdict::cannot_tell;
  claim.measured = std::move(why);
  return claim;
}

std::string shown(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.3g}", value);
}

}  // namespace headgauge
