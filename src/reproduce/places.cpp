#include "reproduce/claim_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "headgauge/claims.hpp"
#include "statistics/inference.hpp"

namespace headgauge {
namespace {

std::vector<Claim> tested(const DeclaredClaim& claim, const Thresholds& thresholds,
                          std::span<const Results> places) {
  std::vector<Claim> claims;
  for (const Results& place : places) {
    Claim judged = claim.judge(place, thresholds);
    if (judged.verdict != Verdict::not_tested) claims.push_back(std::move(judged));
  }
  return claims;
}

std::size_t agreeing(std::span<const Claim> claims, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(claims, verdict, &Claim::verdict));
}

bool all_alike(std::span<const Claim> claims) {
  return claims.empty() || agreeing(claims, claims.front().verdict) == claims.size();
}

// Says how many places give each verdict: "holds at 3, cannot tell at 1 of 4 places".
std::string counts(std::span<const Claim> claims) {
  std::vector<std::string> parts;
  for (const Verdict verdict : {Verdict::holds, Verdict::does_not_hold, Verdict::cannot_tell}) {
    const std::size_t count = agreeing(claims, verdict);
    if (count > 0) parts.push_back(fmt::format("{} at {}", verdict_text(verdict), count));
  }
  return fmt::format("{} of {} place{}", fmt::join(parts, ", "), claims.size(),
                     claims.size() == 1 ? "" : "s");
}

// Adds the mean of the first fact over the places.
std::string over_places(std::span<const Claim> claims) {
  if (claims.size() < 2 || claims.front().facts.empty()) return "";
  const std::string& name = claims.front().facts.front().name;
  std::vector<double> values;
  for (const Claim& claim : claims) {
    const auto fact = std::ranges::find(claim.facts, name, &Claim::Fact::name);
    if (fact != claim.facts.end()) values.push_back(fact->value);
  }
  const MeanWithError mean = mean_with_error(finite_values(values));
  std::string words = name;
  std::ranges::replace(words, '_', ' ');
  return fmt::format(" Over {} places the {} is {:.3g} ± {:.2g} (standard error).", values.size(),
                     words, mean.value, mean.standard_error);
}

Claim judge_at(const DeclaredClaim& listed, const Thresholds& thresholds, const Places& places) {
  if (!listed.with_places) return listed.judge(places.with.front(), thresholds);
  const std::vector<Claim> with = tested(listed, thresholds, places.with);
  const std::vector<Claim> beyond =
      listed.with_sinks ? tested(listed, thresholds, places.beyond) : std::vector<Claim>();
  std::vector<Claim> all = with;
  all.insert(all.end(), beyond.begin(), beyond.end());
  if (with.empty()) return listed.judge(places.with.front(), thresholds);
  Claim claim = with.front();
  if (claim.theorem) {
    const auto failed = std::ranges::find(all, Verdict::does_not_hold, &Claim::verdict);
    return failed == all.end() ? claim : *failed;
  }
  claim.measured += over_places(with);
  const bool silent = listed.with_sinks && beyond.size() < places.beyond.size();
  if (agreeing(all, claim.verdict) < all.size() || silent) {
    claim.verdict = Verdict::cannot_tell;
    const bool with_sinks = all_alike(with) && all_alike(beyond);
    claim.measured += fmt::format(" It turns with the {}: {}it {}", with_sinks ? "sinks" : "place",
                                  beyond.empty() && !silent ? "" : "with the sinks ", counts(with));
    claim.measured += !beyond.empty() ? fmt::format("; beyond them it {}.", counts(beyond))
                      : silent        ? "; beyond them it is not tested."
                                      : ".";
  } else if (with.size() < kPlaces && claim.verdict != Verdict::cannot_tell) {
    claim.measured += fmt::format(" It {} here, at {} of the {} places that a verdict needs.",
                                  verdict_text(claim.verdict), with.size(), kPlaces);
    claim.verdict = Verdict::cannot_tell;
  }
  return claim;
}

constexpr std::array kMoves = {0.8, 1.2};

// Says which threshold of ours turns the verdict if it moves by a fifth.
void add_turns(const DeclaredClaim& listed, const Places& places, Claim& claim) {
  const bool is_open =
      listed.with_places && places.with.size() < kPlaces;  // whatever the test says
  if (claim.verdict == Verdict::not_tested || is_open) return;
  for (const auto& [name, value] : listed.thresholds) {
    for (const double move : kMoves) {
      Thresholds moved = listed.thresholds;
      moved[name] *= move;
      const Verdict verdict = judge_at(listed, moved, places).verdict;
      if (verdict == claim.verdict) continue;
      claim.turns.push_back(fmt::format("{} = {:g} in place of {:g}: {}", name, moved[name], value,
                                        verdict_text(verdict)));
    }
  }
}

std::vector<Claim> judge_all(const std::string& paper, const Places& places) {
  std::vector<Claim> claims;
  for (const DeclaredClaim& listed : declared_claims(paper)) {
    claims.push_back(judge_at(listed, listed.thresholds, places));
    add_turns(listed, places, claims.back());
  }
  return claims;
}

}  // namespace

std::vector<Claim> judge_at(const Places& places) {
  return judge_all("A", places);
}

std::vector<Claim> tokens_claims(const Results& results) {
  return judge_all("B", {.with = {results}, .beyond = {}});
}

}  // namespace headgauge
