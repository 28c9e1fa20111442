// Renders the table of heads.
#pragma once

#include <limits>
#include <string>

#include "headgauge/results.hpp"

namespace headgauge::cli {

struct TableOptions {
  bool color = false;  // use terminal escape codes
  int top = 0;         // number of heads shown; 0: all
  // Width of legends and of the lines above the table. Tables are up to 100 columns wide; that of
  // diff drops no columns if the width is unlimited.
  std::size_t width = std::numeric_limits<std::size_t>::max();
  bool all = false;  // give every head its own row, however many there are
  std::string sort;  // metric to sort by, largest first; empty: by layer and head
};

// Returns model, text and settings; the loss at every length; one row for each head at the longest
// length, or an overview if there are more than 60 heads and no option asks for rows; the meaning
// of the flags. At most 100 columns wide. Throws UsageError, which lists the valid metrics, if
// `sort` is not a metric of heads.
std::string render_table(const Results& results, const TableOptions& options);

// Throws as render_table() does for `sort`; the results need no values yet.
void require_sortable(const Results& results, const std::string& metric);

}  // namespace headgauge::cli
