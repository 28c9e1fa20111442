// Writes the summary and the tables of results as Markdown.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "headgauge/text.hpp"
#include "headgauge/view.hpp"

namespace headgauge::view {
namespace {

constexpr Index kChangesShown = 20;  // of each kind

// Returns the text with a backslash before what Markdown would read as its own.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : legible(text)) {
    if (std::string_view("\\|*`<[").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void add_table(const Table& table, std::string& text) {
  text += fmt::format("\n### {}\n\n|", escaped(table.title));
  for (const Column& column : table.columns) {
    const bool both = !column.title.empty() && !column.unit.empty();
    const std::string unit = escaped(column.unit);
    text += fmt::format(" {}{} |", escaped(column.title), both ? " (" + unit + ")" : unit);
  }
  text += "\n|";
  for (const Column& column : table.columns) text += column.number ? "---:|" : "---|";
  for (const std::vector<Cell>& row : table.rows) {
    text += "\n|";
    for (const Cell& cell : row) {
      const char* const bold = cell.mark == Mark::strong ? "**" : "";
      text += fmt::format(" {}{}{} |", bold, escaped(cell.text), bold);
    }
  }
  text += "\n";
  if (table.left_out > 0) text += fmt::format("\nand {} more\n", table.left_out);
  for (const std::string& note : table.notes) text += "\n" + escaped(note) + "\n";
}

}  // namespace

std::string to_markdown(const Results& results) {
  std::string text;
  for (const SummaryLine& line : results.summary) text += "- " + escaped(line.text) + "\n";
  for (const Table& table : tables(results)) add_table(table, text);
  for (const Table& table : change_tables(results, kChangesShown)) add_table(table, text);
  return text;
}

}  // namespace headgauge::view
