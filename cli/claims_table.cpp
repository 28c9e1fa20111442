// Renders the tables of headgauge reproduce.
#include <fmt/format.h>

#include <algorithm>

#include "cli/progress.hpp"
#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kVerdict = 15;     // the longest verdict and two spaces
constexpr std::size_t kClaimWidth = 65;  // of a claim in short, on one line of a screen

Style style_of(Verdict verdict) {
  if (verdict == Verdict::holds) return Style::bold;
  return verdict == Verdict::does_not_hold ? Style::warning : Style::faint;
}

}  // namespace

std::string render_claims(const Results& results, const TableOptions& options) {
  const Painter paint(options.color);
  const std::size_t width = std::min(options.width, kTableWidth);
  TextTable table(
      paint, {left_column("verdict", kVerdict - 1), left_column("claim, and what was measured")});
  for (const Claim& claim : results.claims) {
    table.row(
        {{std::string(verdict_text(claim.verdict)), style_of(claim.verdict)},
         hanging(fmt::format("{} (paper {}, {}{})", claim.statement, claim.paper, claim.figure,
                             claim.ours      ? "; a theorem of headgauge: this checks the code"
                             : claim.theorem ? "; a theorem: this checks the code"
                                             : ""),
                 width, kVerdict)});
    table.row({"", hanging(claim.measured, width, kVerdict)});
    if (!claim.turns.empty()) {
      const auto turns =
          fmt::format("It turns with a threshold of ours ({}).", fmt::join(claim.turns, "; "));
      table.row({"", {hanging(turns, width, kVerdict), Style::faint}});
    }
    table.row({});
  }
  return table.text();
}

view::Table claims_in_short(const Results& results) {
  const auto with = [&](Verdict verdict) {
    return std::ranges::count(results.claims, verdict, &Claim::verdict);
  };
  view::Table table{
      .name = "claims",
      .label = "",
      .title = fmt::format(
          "Of {} claims, {} hold, {} do not hold, {} cannot be told, {} were not tested",
          results.claims.size(), with(Verdict::holds), with(Verdict::does_not_hold),
          with(Verdict::cannot_tell), with(Verdict::not_tested)),
      .columns = {{.title = "", .number = false}, {.title = "", .number = false}},
      .lead = true};
  for (const Claim& claim : results.claims) {
    if (claim.verdict == Verdict::not_tested) continue;
    table.rows.push_back(
        {{std::string(verdict_text(claim.verdict))}, {shortened(claim.statement, kClaimWidth)}});
  }
  return table;
}

}  // namespace headgauge::cli
