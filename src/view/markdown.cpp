// Writes the summary and the tables of results as Markdown.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "headgauge/results_folder.hpp"
#include "headgauge/text.hpp"
#include "headgauge/view.hpp"
#include "results/value_or.hpp"

namespace headgauge::view {
namespace {

constexpr Index kChangesShown = 20;  // of each kind

void add_table(const Table& table, std::string& text) {
  text += fmt::format("\n### {}\n\n|", in_markdown(table.title));
  for (const Column& column : table.columns) {
    const char* const gap = column.title.empty() || column.unit.empty() ? "" : ", ";
    text += fmt::format(" {}{}{} |", in_markdown(column.title), gap, in_markdown(column.unit));
  }
  text += "\n|";
  for (const Column& column : table.columns) text += column.number ? "---:|" : "---|";
  for (const std::vector<Cell>& row : table.rows) {
    text += "\n|";
    for (const Cell& cell : row) {
      const char* const bold = cell.mark == Mark::strong ? "**" : "";
      text += fmt::format(" {}{}{} |", bold, in_markdown(cell.text), bold);
    }
  }
  text += "\n";
  if (table.left_out > 0) text += fmt::format("\nand {} more\n", table.left_out);
  text += "\n";
  for (const Column& column : table.columns) {
    if (column.meaning.empty()) continue;
    text += fmt::format("- {}: {}\n", in_markdown(column.title), in_markdown(column.meaning));
  }
  for (const std::string& note : table.notes) text += "\n" + in_markdown(note) + "\n";
}

// Says what the results are of: two runs, or a model and its texts.
std::string measured(const Results& results) {
  if (results.coord("run") != nullptr) {
    return fmt::format("{} against {}", value_or<std::string>(results.settings, "new", "new"),
                       value_or<std::string>(results.settings, "old", "old"));
  }
  const std::string model = results.model.name.value_or("a model");
  if (results.text.names.empty()) return model;
  return fmt::format("{} on {}", model, fmt::join(results.text.names, ", "));
}

}  // namespace

std::string to_markdown(const Results& results) {
  std::string text = std::string(kMarkdownMark) + "\n" + in_markdown(measured(results));
  text += results.partial ? ", partial results\n\n" : "\n\n";
  for (const SummaryLine& line : results.summary) text += "- " + in_markdown(line.text) + "\n";
  for (const Table& table : tables(results)) add_table(table, text);
  for (const Table& table : change_tables(results, kChangesShown)) add_table(table, text);
  for (const Claim& claim : results.claims) {
    text += fmt::format("- {}: {}. {}\n", in_markdown(claim.name), verdict_text(claim.verdict),
                        in_markdown(claim.measured));
  }
  for (const std::string& notice : results.notices) text += "\nNote: " + in_markdown(notice) + "\n";
  return text;
}

}  // namespace headgauge::view
