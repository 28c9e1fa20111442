// Chooses the function that summarises the results of a command.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "findings/summary.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/scan.hpp"
#include "headgauge/synthetic.hpp"
#include "headgauge/validate.hpp"
#include "results/sentences.hpp"

namespace headgauge {
namespace {

// Says how many claims of a paper hold, and what their verdicts rest on.
std::vector<SummaryLine> summarize_claims(const Results& results) {
  constexpr const char* kVerdicts[] = {"holding", "failing", "undecided", "untested"};
  constexpr double kWrong = 0.025;  // at most, of verdicts at the border of their range
  std::map<std::string, Index> counts = {{"claims", std::ssize(results.claims)}};
  for (const char* name : {"on_theorems", "ours", "read"}) counts[name] = 0;
  for (const char* name : kVerdicts) counts[name] = 0;
  std::vector<std::string> turning;
  for (const Claim& claim : results.claims) {
    ++counts[kVerdicts[static_cast<std::size_t>(claim.verdict)]];
    if (claim.verdict == Verdict::not_tested) continue;
    ++counts[claim.theorem ? "on_theorems" : "read"];
    counts["ours"] += claim.ours ? 1 : 0;
    if (!claim.turns.empty()) turning.push_back(claim.name);
  }
  counts["turning"] = std::ssize(turning);
  const double wrong = kWrong * static_cast<double>(counts["read"]);
  Scope scope;
  for (const auto& [name, number] : counts) scope.count(name, number);
  scope.give("wrong", computed(wrong, rounded(wrong)))
      .give_if("any_tested", counts["untested"] < counts["claims"]);
  if (!turning.empty()) scope.give("names", fmt::format("{}", fmt::join(turning, ", ")));
  return sentences_about("claims", results, scope);
}

}  // namespace

std::vector<SummaryLine> summarize(const Results& results) {
  switch (results.command) {
    case Command::compare:
      return summarize_comparison(results);
    case Command::simulate:
      return summarize_simulation(results);
    case Command::converge:
      return summarize_convergence(results);
    case Command::validate:
      return summarize_validation(results);
    default:
      return results.claims.empty() ? summarize_scan(results) : summarize_claims(results);
  }
}

}  // namespace headgauge
