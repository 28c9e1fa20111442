#include "cli/findings.hpp"

#include <string>
#include <vector>

#include "cli/print.hpp"
#include "cli/table_style.hpp"
#include "cli/terminal.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kIndent = 4;

}  // namespace

void print_findings(const Results& results) {
  const TableOptions look = table_on_output();
  const Painter paint(look.color);
  const std::vector<SummaryLine>& lines = results.summary;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    print_sentences({lines[i].text});
    const auto goes_on = [&](std::string SummaryLine::*words) {
      return i + 1 < lines.size() && lines[i + 1].*words == lines[i].*words;
    };
    for (const auto words : {&SummaryLine::means, &SummaryLine::next}) {
      if ((lines[i].*words).empty() || goes_on(words)) continue;
      print_text(std::string(kIndent, ' ') +
                 paint(Style::faint, hanging(legible(lines[i].*words), look.width, kIndent)) +
                 "\n");
    }
  }
}

}  // namespace headgauge::cli
