// The declarations of tables in catalogue/*.json, and their parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/view.hpp"

namespace headgauge::view {

// A dim, and one of its labels: the text of a label, `first` or `last`.
using At = std::vector<std::pair<std::string, std::string>>;

struct DeclaredColumn {
  std::string metric;      // {DIM}: the metric that the row's label of this dim names
  std::string title = {};  // {} is the label of `each`, {DIM} that of a dim in `at`
  std::string unit = {};
  bool explains = false;     // the legend has the metric's meaning
  std::string meaning = {};  // for the legend in place of the metric's
  At at = {};
  std::string each = {};  // a column for each label of this dim; `tasks`: for each task
  std::string over = {};  // the figure of all other dims: mean, median, largest, sum; `heads`: the
                          // mean over heads
  std::string show = {};  // how a value is written: see shown() in table.cpp
  std::string part = {};  // `rows`: the number of rows in place of the value; `p`: that of its test
  bool error = false;     // with the standard error
  bool interval = false;  // with the 95 % interval
  std::string star = {};  // marked if this is at most .05 (`p`), 1 (a metric) or a gain
  std::string ratio_to = {};  // as a share of the cell at this label of `at`'s first dim
  int rank = 0;
  std::string beside = {};  // only if results have this coordinate, or lack it after "!"
  bool not_first = false;   // not of the unchanged model
};

struct DeclaredTable {
  std::string name;
  std::string title = {};            // {} is the label of `for`
  std::string of = {};               // a table for each label of this dim
  std::vector<std::string> rows;     // dims whose cells are rows; `heads`: layer and head in one
  std::string lacks = {}, has = {};  // dims of the metric `judges`: when the table is made at all
  std::string judges = {};           // rows without a value of this metric are left out
  std::string starts = {};           // only row labels that start with this; "!x": that do not
  std::string only = {};             // rows where this metric is not 1 are left out
  std::string best = {};  // the change k > 0 of each row with the least value of this metric
  std::string faint_unless = {};  // a metric that is not 1: the row says little
  std::string shown = {};  // rows where the test of this metric shows nothing are left out; the
                           // surest first
  bool sorted = false;     // the rows with the largest |value| of the first metric first; those
                           // without one left out
  bool lead = false;       // part of the answer of a command
  Index most = 0;          // rows that are shown; 0: all
  std::vector<DeclaredColumn> columns;
  std::vector<std::string> notes = {};
};

// Reads the tables of all groups. Throws std::logic_error, which names the place, for an unknown
// or missing key or an unknown metric.
const std::vector<DeclaredTable>& declared_tables();

// Reads one declaration, of a group.
DeclaredTable read_table(nlohmann::json object, const std::string& group);

// Makes the tables of one declaration (view.hpp).
std::vector<Table> make_tables(const Results& results, const DeclaredTable& declared,
                               std::optional<Index> most = std::nullopt);

// Makes the table of the roles of a scan's heads; nothing if no head has one.
std::optional<Table> roles_table(const Results& results);

}  // namespace headgauge::view
