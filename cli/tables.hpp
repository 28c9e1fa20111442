// Renders the tables of every command.
#pragma once

#include <limits>
#include <span>
#include <string>

#include "headgauge/diff.hpp"
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

// Answers of tasks, of a scan or a comparison: one row for each task, of a comparison one for each
// task and intervention; empty without tasks. A task that the unchanged model is not shown to do is
// faint: it says nothing about a change.
std::string render_answers(const Results& results, const TableOptions& options);

// compare: model, text and settings, and one row for each intervention at the longest length: loss,
// and means over the heads. If heads or layers were changed one at a time, each has one row with
// the intervention that costs least. At most 100 columns wide.
std::string render_comparison(const Results& results, const TableOptions& options);

// converge: one row for each head: paper A's capacity next to paper B's horizon, rates and key
// budgets; the key-value cache of every layer.
std::string render_convergence(const Results& results, const TableOptions& options);

// converge --synthetic: one row for each scale: horizon, rates and the errors at both ends of the
// grid; then the worst queries of the balls and the hardmax limit, if they were measured.
std::string render_simulation(const Results& results, const TableOptions& options);

// plan: for every budget, the plan and its competitors of the same size on the texts of --confirm;
// then the number of keys that each head keeps under the first plan.
std::string render_plan(const Results& results, const TableOptions& options);

// Number of metrics that the table of validate shows without --top.
inline constexpr int kUsualTop = 20;

// validate: the changes made to the heads and their effect on the loss; then the rank correlation
// of this effect with every predictor, largest first (the first `options.top`; 0: all), and with
// every flag.
std::string render_validation(const Results& results, const TableOptions& options);

// reproduce: every claim with its verdict and the measured values, and the table of costs next to
// the paper's.
std::string render_claims(const Results& results, const TableOptions& options);

// diff: the settings of two runs, and the values that changed. `list` comes from
// list_changes(diff); options.top limits the lines of each of its two parts (0: all).
std::string render_diff(const Results& diff, const ChangeList& list, const TableOptions& options);

// Returns one line that says that all limits hold.
std::string limits_hold(std::span<const LimitCheck> checks);

}  // namespace headgauge::cli
