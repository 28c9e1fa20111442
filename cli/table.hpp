// The table of heads on stdout.
#pragma once

#include <limits>
#include <string>

#include "headgauge/results.hpp"

namespace headgauge::cli {

struct TableOptions {
  bool color = false;  // escape codes of a terminal
  int top = 0;         // only the first so many heads; 0: all
  // Columns that legends and the lines above the table may take. The table itself takes up to 100,
  // but that of diff, which leaves out no column where nothing limits its width.
  std::size_t width = std::numeric_limits<std::size_t>::max();
  bool all = false;  // every head in a row of its own, however many there are
  std::string sort;  // a metric of each head, largest first; empty: by layer and head
};

// Model, text and settings; loss at every length; one row a head at the longest length, or an
// overview where there are more than 60 heads and no option asks for rows; what the flags mean. At
// most 100 columns. UsageError if `sort` is no metric of a head, with those that are.
std::string render_table(const Results& results, const TableOptions& options);

// What render_table() throws, for results whose cells need not be there yet.
void require_sortable(const Results& results, const std::string& metric);

}  // namespace headgauge::cli
