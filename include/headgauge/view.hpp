// What is shown of results, as values: the terminal, the page and notebooks draw them. Tables are
// declared in catalogue/ (docs/architecture.md, "The view").
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge::view {

// How a cell stands out: `strong` is shown by a test, `faint` says little.
enum class Mark { none, strong, faint };

struct Cell {
  std::string text = {};      // as shown: "+0.0116 ± 0.0036"; empty where nothing is to say
  double value = kUndefined;  // by which a reader sorts
  Mark mark = Mark::none;
};

struct Column {
  std::string title;
  std::string unit = {};     // below the title
  std::string meaning = {};  // for the legend; empty if the title says it
  std::string metric = {};   // whose page explains the column; may be empty
  bool number = true;        // else a name, aligned left
  int rank = 0;  // where room is short, columns with the largest rank go first; 0: never
};

struct Table {
  std::string name;   // as declared; several tables of one name differ by `label`
  std::string label;  // of what the table is: a plan, an outcome; may be empty
  std::string title;
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};  // a cell for each column
  std::vector<std::string> notes = {};       // sentences below it
  Index left_out = 0;                        // rows beyond the limit
  bool lead = false;  // part of the answer, which the first screen and the page open with
};

// Makes the tables that the catalogue declares for these results, in its order, without those that
// have no defined cell. `most`: rows of tables of heads and of those that declare a limit; 0: all,
// nothing: what they declare.
std::vector<Table> tables(const Results& results, std::optional<Index> most = std::nullopt);

// Makes the tables of what changed most in a diff or a comparison, from Results::changes or, where
// a file lacks it, from list_changes(). `most`: rows of each; 0: all.
std::vector<Table> change_tables(const Results& results, Index most);

nlohmann::ordered_json to_json(const std::vector<Table>& tables);

// Returns the summary, the tables, 20 changes of each kind, the claims and the notices as Markdown;
// what a test shows is bold.
std::string to_markdown(const Results& results);

}  // namespace headgauge::view
