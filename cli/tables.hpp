// Renders the tables of every command.
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

// scan: model, text and settings; the loss at every length; one row for each head at the longest
// length, or an overview if there are more than 60 heads and no option asks for rows; the meaning
// of the flags. At most 100 columns wide. Throws UsageError, which lists the valid metrics, if
// `sort` is not a metric of heads.
std::string render_table(const Results& results, const TableOptions& options);

// Throws as render_table() does for `sort`; the results need no values yet.
void require_sortable(const Results& results, const std::string& metric);

// Draws the tables that the view makes of the results, with the first `options.top` rows of those
// that have a limit (0: all). A column that does not fit into 100 characters is left out.
std::string render_view(const Results& results, const TableOptions& options);
// The same below the lines about model, text and run.
std::string render_tables(const Results& results, const TableOptions& options);

// Number of metrics that the table of validate shows without --top.
inline constexpr int kUsualTop = 20;

// reproduce: every claim with its verdict and the measured values, and the table of costs next to
// the paper's.
std::string render_claims(const Results& results, const TableOptions& options);

// diff: the values that changed most, options.top lines with standard errors and as many without
// (0: all).
std::string render_changes(const Results& results, const TableOptions& options);

}  // namespace headgauge::cli
