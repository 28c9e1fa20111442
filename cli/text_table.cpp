#include "cli/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headgauge::cli {

TextTable::TextTable(const Painter& paint, std::vector<TextColumn> columns, Style titles)
    : paint_(paint), columns_(std::move(columns)) {
  Row first{{}, true}, second{{}, true};
  for (const TextColumn& column : columns_) {
    first.cells.emplace_back(column.title, titles);
    second.cells.emplace_back(column.unit, column.unit_style);
  }
  const auto ends_empty = [](const Row& row) {
    return !row.cells.empty() && row.cells.back().text.empty();
  };
  while (ends_empty(first)) first.cells.pop_back();
  while (ends_empty(second) && columns_[second.cells.size() - 1].align == Align::left) {
    second.cells.pop_back();
  }
  const bool units = !std::ranges::all_of(columns_, &std::string::empty, &TextColumn::unit);
  if (!first.cells.empty()) rows_.push_back(std::move(first));
  if (units) rows_.push_back(std::move(second));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    std::size_t width = columns_[k].width;
    for (auto row = rows_.begin(); columns_[k].width == 0 && row != rows_.end(); ++row) {
      if (k < row->cells.size()) width = std::max(width, text_width(row->cells[k].text));
    }
    widths.push_back(width);
  }
  return widths;
}

std::size_t TextTable::width() const {
  const std::vector<std::size_t> own = widths();
  std::size_t sum = 0;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    if (shows(k)) sum += own[k] + (k > 0 ? columns_[k].gap : 0);
  }
  return sum;
}

std::size_t TextTable::fit(std::size_t width) {
  while (this->width() > width) {
    const auto last = std::ranges::max_element(columns_, {}, &TextColumn::rank);
    if (last->rank <= 0) break;
    last->rank = kDropped;
  }
  return static_cast<std::size_t>(std::ranges::count(columns_, kDropped, &TextColumn::rank));
}

std::string TextTable::text() const {
  const std::vector<std::size_t> own = widths();
  std::string out;
  for (const auto& [cells, heading] : rows_) {
    std::size_t spaces = 0;  // before the next text
    for (std::size_t k = 0; k < cells.size(); ++k) {
      if (!shows(k)) continue;
      const TextColumn& column = columns_[k];
      const std::size_t room = own[k];
      const std::size_t pad = room - std::min(room, text_width(cells[k].text));
      spaces += (k > 0 ? column.gap : 0) + (column.align == Align::right ? pad : 0);
      out.append(spaces, ' ') += paint_(cells[k].style, cells[k].text);
      spaces = column.align == Align::left ? pad : 0;
    }
    out += "\n";
  }
  return out;
}

std::string legend_line(const Painter& paint, Style style, std::string_view title,
                        std::string_view meaning, std::size_t width) {
  constexpr std::size_t kMeanings = 9;  // indent
  return paint.entry(style, title, meaning, std::min(width, kTableWidth), kMeanings,
                     style == Style::warning ? Style::plain : Style::faint);
}

}  // namespace headgauge::cli
