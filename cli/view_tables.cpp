// Draws the tables of the view.
#include <algorithm>

#include "cli/table_header.hpp"
#include "cli/tables.hpp"
#include "cli/text_table.hpp"
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

std::string drawn(const view::Table& table, const TableOptions& options, std::size_t widest) {
  const Painter paint(options.color);
  std::vector<TextColumn> columns;
  std::vector<bool> starred;
  for (const view::Column& column : table.columns) {
    columns.push_back({.title = column.title,
                       .unit = column.unit,
                       .rank = column.rank,
                       .meaning = column.meaning,
                       .align = column.number ? Align::right : Align::left,
                       .gap = kGap});
    starred.push_back(is_starred(table, starred.size()));
  }
  TextTable text(paint, columns);
  for (const std::vector<view::Cell>& row : table.rows) {
    std::vector<TextCell> cells;
    for (std::size_t k = 0; k < row.size(); ++k) {
      const char* star = row[k].mark == view::Mark::strong ? "*" : starred[k] ? " " : "";
      cells.emplace_back(shortened(row[k].text, kWidestName) + star, style_of(row[k].mark));
    }
    text.row(std::move(cells));
  }
  text.fit(std::min(options.width, widest));
  const std::size_t width = std::min(options.width, kTableWidth);
  std::string out = paint(Style::bold, table.title) + "\n" + text.text();
  if (table.left_out > 0) out += lines_left(paint, static_cast<std::size_t>(table.left_out));
  const std::string legend = text.legend(width);
  if (!legend.empty()) out += "\n" + legend;
  for (const std::string& note : table.notes) {
    out += paint(Style::faint, wrapped(note, width, 3)) + "\n";
  }
  return out + "\n";
}

}  // namespace

std::string render_view(const Results& results, const TableOptions& options) {
  std::string out;
  for (const view::Table& table : view::tables(results, options.top)) {
    out += drawn(table, options, kTableWidth);
  }
  return out;
}

std::string render_changes(const Results& results, const TableOptions& options) {
  std::string out;
  for (const view::Table& table : view::change_tables(results, options.top)) {
    out += drawn(table, options, options.width);
  }
  return out;
}

std::string render_tables(const Results& results, const TableOptions& options) {
  return render_header(results, Painter(options.color), options.width) +
         render_view(results, options);
}

}  // namespace headgauge::cli
