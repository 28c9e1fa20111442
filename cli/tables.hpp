// Renders the tables of every command.
#pragma once

#include <limits>
#include <string>

#include "headgauge/results.hpp"
#include "headgauge/view.hpp"

namespace headgauge::cli {

struct TableOptions {
  bool color = false;  // use terminal escape codes
  int top = 0;         // number of heads shown; 0: all
  // Width of the lines above a table. Tables are up to 100 columns wide; that of diff drops no
  // columns if the width is unlimited.
  std::size_t width = std::numeric_limits<std::size_t>::max();
  bool all = false;       // give every head its own row, however many there are
  std::string sort = {};  // metric to sort by, largest first; empty: by layer and head
  bool table = false;     // all tables and findings instead of the answer
  bool explain = false;   // what the words on the screen mean, too
};

// scan: one row for each head at the longest length; none if there are more than 60 heads and no
// option asks for them. At most 100 columns wide. Throws UsageError, which lists the valid metrics,
// if `sort` is not a metric of heads.
std::string render_table(const Results& results, const TableOptions& options);

// Throws as render_table() does for `sort`; the results need no values yet.
void require_sortable(const Results& results, const std::string& metric);

// Draws a table of the view in at most so many columns, if columns may be left out.
std::string draw_table(const view::Table& table, const TableOptions& options, std::size_t widest);

// Draws the tables that the view makes of the results, with the first `options.top` rows of those
// that have a limit (0: all). A column that does not fit into 100 characters is left out.
std::string render_view(const Results& results, const TableOptions& options);

// Draws a letter for each head, the first of its rarest role, in a colour for each role; empty for
// a model of too many layers or heads.
std::string head_map(const Results& results, const TableOptions& options);

// reproduce: the number of claims by verdict; each that was tested on a line or, as a whole, every
// claim with what was measured.
view::Table claims_table(const Results& results, bool whole);

// diff: the values that changed most, options.top lines with standard errors and as many without
// (0: all).
std::string render_changes(const Results& results, const TableOptions& options);

// Says what the terms, columns and roles mean that are on this screen of the results.
std::string explanations(const Results& results, const std::string& screen,
                         const TableOptions& options);

}  // namespace headgauge::cli
