// Chooses the findings that summarise a scan, their meaning, and the next command.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "findings/answers.hpp"
#include "findings/summary.hpp"
#include "findings/summary_lines.hpp"
#include "headgauge/flags.hpp"
#include "results/next_commands.hpp"

namespace headgauge {

bool critical_n_can_be_shown(const Results& results, std::size_t heads) {
  const auto level = results.settings.find("critical_level");
  const double threshold =
      level != results.settings.end() && level->is_number() ? level->get<double>() : 0.01;
  return std::exp2(-static_cast<double>(heads)) < threshold;
}

std::vector<SummaryLine> summarize_scan(const Results& results) {
  constexpr std::size_t kLines = 4;  // number of lines to reach with spare ones
  using summary::explained;
  // These results judge the claims already.
  const bool judged = results.command == Command::reproduce_limits;
  const char* const claims = judged ? next::kConverge : next::kLimits;
  const summary::Summary summary(results);
  std::vector<SummaryLine> lines = task_sentences(results);
  if (!summary.possible() || !has_rows_to_judge(results)) return lines;
  // The statements in the order of the text; `spare` ones replace those that the results do not
  // support.
  struct Statement {
    summary::MaybeLine line;
    bool spare = false;
    bool aside = false;
  };
  std::vector<Statement> statements{
      {explained(summary.sinks(),
                 "A head rests on a sink if a query finds nothing that it looks for; what "
                 "rests on sinks says nothing about the text.",
                 next::kDropKeys)},
      {explained(summary.roles(),
                 "The keys that a head looks at (apart from its sinks) characterise it: the "
                 "examples show them.",
                 next::kLookAt)},
      {explained(summary.dispersion(),
                 "A head that averages reads everything a little; a sharp one reads few keys, or "
                 "only a sink.",
                 next::kCompare)},
      {.line = explained(summary.growth(),
                         "A head that spreads with the context selects less in longer texts.",
                         next::kConverge),
       .spare = true},
      {explained(
          summary.outlook(),
          "A slope near 1 says that a head spreads over all new keys; a slope near 0 says "
          "that it still selects in longer texts. The ends of the 95 % intervals decide "
          "which head is named, so a larger slope with a larger error may stand in the table.",
          next::kConverge)},
      {.line =
           explained(summary.critical(),
                     "Critical N follows the reading \"context\", a conjecture of how paper A "
                     "means its expectation. By the paper's theorem the selected keys lie "
                     "farther from the others than random ones while the last ratio is above 1.",
                     claims),
       .aside = true},
      {.line = explained(summary.separability(),
                         "A larger weight in such heads is no sign that a key's vector stands "
                         "apart from the others. Copies of a vector never do.",
                         claims),
       .aside = true},
      {.line =
           explained(summary.spread(), "A cache would have to keep this many keys for that weight.",
                     next::kConverge),
       .spare = true},
      {.line = explained(summary.largest_key(),
                         "A small largest weight says that no single key decides.", next::kCompare),
       .spare = true},
  };
  std::size_t count = 0;
  for (const bool spare : {false, true}) {
    for (Statement& statement : statements) {
      if (statement.spare != spare || !statement.line) continue;
      if (statement.spare && count >= kLines)
        statement.line.reset();
      else
        ++count;
    }
  }
  for (Statement& statement : statements) {
    if (!statement.line) continue;
    statement.line->aside = statement.aside;
    lines.push_back(std::move(*statement.line));
  }
  return lines;
}

}  // namespace headgauge
