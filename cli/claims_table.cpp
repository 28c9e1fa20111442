// Makes the table of the claims of headgauge reproduce.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/table_style.hpp"
#include "cli/tables.hpp"

namespace headgauge::cli {

view::Table claims_table(const Results& results, bool whole) {
  view::Table table{.name = "claims",
                    .label = "",
                    .title = "",
                    .columns = {{.title = "", .number = false}, {.title = "", .number = false}},
                    .lead = true};
  for (const Claim& claim : results.claims) {
    const view::Cell verdict{
        std::string(verdict_text(claim.verdict)), kUndefined,
        claim.verdict == Verdict::not_tested ? view::Mark::faint : view::Mark::none};
    if (!whole) {
      constexpr std::size_t kShort = 62;  // on one line of a screen
      if (claim.verdict == Verdict::not_tested) continue;
      table.rows.push_back({verdict, {shortened(claim.statement, kShort)}});
      continue;
    }
    table.rows.push_back(
        {verdict,
         {fmt::format("{} (paper {}, {}{})", claim.statement, claim.paper, claim.figure,
                      claim.ours      ? "; a theorem of headgauge: this checks the code"
                      : claim.theorem ? "; a theorem: this checks the code"
                                      : "")}});
    table.rows.push_back({{}, {claim.measured}});
    if (!claim.turns.empty()) {
      const std::string turns = fmt::format("{}", fmt::join(claim.turns, "; "));
      table.rows.push_back({{}, {"It turns with a threshold of ours (" + turns + ")."}});
    }
    table.rows.push_back({{}, {}});
  }
  return table;
}

}  // namespace headgauge::cli
