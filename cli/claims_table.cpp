#include "cli/claims_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/progress.hpp"
#include "cli/table_header.hpp"
#include "cli/table_style.hpp"
#include "headgauge/metric_names.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kVerdict = 15;  // columns: the longest verdict and two spaces
constexpr std::size_t kName = 14;
constexpr std::size_t kTime = 14;

Style style_of(Verdict verdict) {
  if (verdict == Verdict::holds) return Style::bold;
  return verdict == Verdict::does_not_hold ? Style::warning : Style::faint;
}

// Wraps the text of a claim and indents all lines but the first.
std::string column(const std::string& text, std::size_t width) {
  return hanging(text, width, kVerdict) + "\n";
}

std::string claims(const Results& results, const Painter& paint, std::size_t width) {
  std::string text = paint.left(Style::bold, "verdict", kVerdict) +
                     paint(Style::bold, "claim, and what was measured") + "\n";
  for (const Claim& claim : results.claims) {
    text += paint.left(style_of(claim.verdict), verdict_text(claim.verdict), kVerdict);
    text += column(fmt::format("{} (paper {}, {}{})", claim.statement, claim.paper, claim.figure,
                               claim.theorem ? "; a theorem: this checks the code" : ""),
                   width);
    text += fmt::format("{:{}}{}\n", "", kVerdict, column(claim.measured, width));
  }
  return text;
}

std::string seconds(double value) {
  if (!std::isfinite(value)) return "-";
  return value < 10 ? fmt::format("{:.2f} s", value) : readable_time(value);
}

std::string costs(const Results& results, const Painter& paint) {
  const LabelledArray* cost = results.metric(metric::cost_seconds);
  const LabelledArray* paper = results.metric(metric::cost_paper_seconds);
  if (cost == nullptr || paper == nullptr) return "";
  const auto names = results.coord_names("algorithm");
  std::string text = paint.left(Style::bold, "cost of", kName) +
                     paint.right(Style::bold, "here", kTime) +
                     paint.right(Style::bold, "in paper A", kTime) + "\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += paint.left(Style::plain, names[i], kName) +
            paint.right(Style::plain, seconds(cost->values[i]), kTime) +
            paint.right(Style::plain, seconds(paper->values[i]), kTime) + "\n";
  }
  return text;
}

}  // namespace

std::string render_claims(const Results& results, const TableOptions& options) {
  const Painter paint(options.color);
  const std::size_t width = std::min(options.width, kTableWidth);
  return claims(results, paint, width) + costs(results, paint);
}

}  // namespace headgauge::cli
