// Draws the tables of the view.
#include <fmt/format.h>

#include <algorithm>

#include "cli/table_style.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
#include "headgauge/text.hpp"
#include "headgauge/view.hpp"

namespace headgauge::cli {
namespace {

constexpr std::size_t kWidestName = 36;

Style style_of(view::Mark mark) {
  return mark == view::Mark::strong  ? Style::bold
         : mark == view::Mark::faint ? Style::faint
                                     : Style::plain;
}

bool is_starred(const view::Table& table, std::size_t column) {
  return std::ranges::any_of(
      table.rows, [&](const auto& row) { return row[column].mark == view::Mark::strong; });
}

}  // namespace

std::string draw_table(const view::Table& table, const TableOptions& options, std::size_t widest) {
  const Painter paint(options.color);
  const std::size_t width = std::min(options.width, widest), last = table.columns.size() - 1;
  const bool hangs = !table.columns[last].number;  // words go on below themselves
  std::vector<TextColumn> columns;
  std::vector<bool> starred;
  std::size_t indent = 0;  // of the last column
  for (const view::Column& column : table.columns) {
    const std::size_t place = columns.size();
    columns.push_back({.title = column.title,
                       .width = hangs && place == last ? std::size_t{1} : 0,
                       .unit = column.unit,
                       .rank = column.rank,
                       .align = column.number ? Align::right : Align::left,
                       .gap = kGap});
    starred.push_back(is_starred(table, place));
    std::size_t longest = std::max(text_width(column.title), text_width(column.unit));
    for (const auto& row : table.rows) longest = std::max(longest, text_width(row[place].text));
    if (place != last) indent += std::min(longest, kWidestName) + kGap;
  }
  TextTable text(paint, columns);
  for (const std::vector<view::Cell>& row : table.rows) {
    std::vector<TextCell> cells;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const char* star = row[k].mark == view::Mark::strong ? "*" : starred[k] ? " " : "";
      const std::string words = hangs && k == last ? hanging(legible(row[k].text), width, indent)
                                                   : shortened(row[k].text, kWidestName);
      cells.emplace_back(words + star, style_of(row[k].mark));
    }
    text.row(std::move(cells));
  }
  text.fit(width);
  std::string out = text.text();
  if (!table.title.empty()) {
    out.insert(0, paint(Style::bold, wrapped(table.title, width, 2)) + "\n");
  }
  if (table.left_out > 0) {
    const char* const more = options.table ? "--top all" : "--table";
    out += paint(Style::faint, fmt::format("and {} more ({})", table.left_out, more)) + "\n";
  }
  for (const std::string& note : table.notes) {
    out += paint(Style::faint, wrapped(note, width, 2)) + "\n";
  }
  return out;
}

std::string render_view(const Results& results, const TableOptions& options) {
  std::string out;
  for (const view::Table& table : view::tables(results, options.top)) {
    out += draw_table(table, options, kTableWidth) + "\n";
  }
  return out;
}

std::string render_changes(const Results& results, const TableOptions& options) {
  std::string out;
  for (const view::Table& table : view::change_tables(results, options.top)) {
    out += draw_table(table, options, options.width) + "\n";
  }
  return out;
}

}  // namespace headgauge::cli
