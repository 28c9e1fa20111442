// The tables of the terminal: columns declared once, and rows of cells.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/table_style.hpp"
#include "headgauge/catalogue.hpp"

namespace headgauge::cli {

enum class Align { left, right };

struct TextColumn {
  std::string title;
  std::size_t width = 0;  // 0: the width of its widest text
  std::string unit = {};  // second line of the heading
  int rank = 0;           // columns with the largest rank are dropped first; 0: never dropped
  Align align = Align::right;
  std::size_t gap = 1;  // number of spaces before it, unless it is the first
  Style unit_style = Style::faint;
};

inline TextColumn left_column(std::string title, std::size_t width = 0) {
  return {.title = std::move(title), .width = width, .align = Align::left};
}

struct TextCell {
  TextCell(std::string shown, Style look = Style::plain) : text(std::move(shown)), style(look) {}
  TextCell(const char* shown) : text(shown) {}
  std::string text;
  Style style = Style::plain;
};

class TextTable {
 public:
  // The table has a line of titles if any column has one, and a line of units likewise.
  TextTable(const Painter& paint, std::vector<TextColumn> columns, Style titles = Style::bold);

  // Adds a line, which ends after its last cell: there may be fewer cells than columns.
  void row(std::vector<TextCell> cells) { rows_.push_back({std::move(cells)}); }

  std::size_t width() const;

  // Drops columns until the table fits `width`; returns how many were dropped in all.
  std::size_t fit(std::size_t width);

  // Returns whether a column, by its place among those declared, was not dropped.
  bool shows(std::size_t column) const { return columns_[column].rank != kDropped; }

  std::string text() const;

 private:
  static constexpr int kDropped = -1;
  struct Row {
    std::vector<TextCell> cells;
    bool heading = false;
  };
  std::vector<std::size_t> widths() const;

  Painter paint_;
  std::vector<TextColumn> columns_;
  std::vector<Row> rows_;
};

// Returns one line of a legend: the title of a column and its meaning; empty without a meaning.
std::string legend_line(const Painter& paint, Style style, std::string_view title,
                        std::string_view meaning, std::size_t width);

}  // namespace headgauge::cli
