// Chooses the function that summarises the results of a command.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
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
void add_claims(const Results& results, std::vector<SummaryLine>& lines) {
  if (results.claims.empty()) return;
  constexpr const char* kVerdicts[] = {"holding", "failing", "undecided", "untested"};
  constexpr double kWrong = 0.025;  // at most, of verdicts at the border of their range
  std::map<std::string, Index> counts = {{"claims", std::ssize(results.claims)}};
  for (const char* name : kVerdicts) counts[name] = 0;
  std::vector<std::string> turning;
  for (const Claim& claim : results.claims) {
    const bool tested = claim.verdict != Verdict::not_tested;
    ++counts[kVerdicts[static_cast<std::size_t>(claim.verdict)]];
    counts["on_theorems"] += tested && claim.theorem ? 1 : 0;
    counts["ours"] += tested && claim.ours ? 1 : 0;
    counts["read"] += tested && !claim.theorem ? 1 : 0;
    if (!claim.turns.empty()) turning.push_back(claim.name);
  }
  Scope scope;
  for (const auto& [name, number] : counts) scope.count(name, number);
  const double wrong = kWrong * static_cast<double>(counts["read"]);
  scope.give("wrong", computed(wrong, rounded(wrong)));
  if (!turning.empty())
    scope.count("turning", turning.size())
        .give("names", fmt::format("{}", fmt::join(turning, ", ")));
  add_sentences("claims", results, scope, lines);
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
    default: {
      std::vector<SummaryLine> lines;
      add_claims(results, lines);
      std::ranges::copy(summarize_scan(results), std::back_inserter(lines));
      return lines;
    }
  }
}

}  // namespace headgauge
