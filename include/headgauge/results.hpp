// What every analysis returns and every file holds: named coordinates, metrics that are labelled
// arrays over them, and what they say in flags, sentences and claims.
#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/array.hpp"
#include "headgauge/base.hpp"
#include "headgauge/changes.hpp"

namespace headgauge {

// What the numbers are of.
enum class Command {
  unknown,
  scan,
  compare,
  converge,
  simulate,  // converge --synthetic
  reproduce_limits,
  reproduce_tokens,
  diff,
  validate,
  plan,
  monitor,  // headgauge.Monitor of the Python package: a model while it trains
};
// As the command line has it: "scan", "converge --synthetic", "reproduce limits"; empty: unknown.
std::string_view command_text(Command command);

// Something about one head worth a user's attention, at the longest length.
struct Flag {
  std::string name;
  int layer = 0;
  int head = 0;
  int length = 0;
  double value = 0;
  double threshold = 0;
  std::string source;
  std::string advice;          // of compare(): what was tried, and what it gave; empty for others
  std::optional<int> partner;  // the other head of a redundant pair
  std::string change = {};     // of diff(): "gained" or "lost"
};

// Where a number in a sentence comes from.
struct FactSource {
  enum class Kind {
    cell,            // a metric `name` at `cell`
    standard_error,  // the standard error of that cell
    coordinate,      // label cell[0] of the coordinate `name`
    setting,         // the setting `name`
    flags,           // the number of flags called `name`
    heads,           // the number of heads that were measured
    heads_with,      // the number of heads whose value of the metric `name` is at least 1
    constant,        // a fixed number that the sentence states
    derived,         // computed from others
    critical_range,  // the largest N searched for critical N
    length_limit,    // the largest whole number below 6 % of the longest length
  };
  Kind kind = Kind::derived;
  std::string name = {};
  std::vector<Index> cell = {};  // along the metric's dims
};
// "cell", "standard_error", ...: as in results.json.
std::string_view kind_text(FactSource::Kind kind);

// A number in a sentence, so that every one can be checked.
struct Fact {
  std::string text;  // as it stands in the sentence
  FactSource source;
  double value = 0;  // unrounded
  double scale = 1;  // text = rounded value * scale (100 for a percentage)
};

// What was found, for people.
struct SummaryLine {
  std::string text;
  std::vector<Fact> facts;         // in the order of the text
  std::vector<std::string> heads;  // "layer.head" as they stand in the text
  bool aside = false;              // of critical N or a null: the report puts it behind "more"
  std::string means = {};          // what it means for the reader; may be empty
  std::string next = {};           // which command goes further, in backticks, and what it says
};

// What became of a claim on the numbers at hand: cannot_tell where the test leaves it open,
// not_tested where the numbers that the test needs are not there.
enum class Verdict { holds, does_not_hold, cannot_tell, not_tested };
// "holds", "does not hold", "cannot tell", "not tested".
std::string_view verdict_text(Verdict verdict);

// A claim of a paper, held against what was measured. The verdict is computed by the test that
// `test` states; `facts` are the numbers it looked at.
struct Claim {
  struct Fact {
    std::string name;
    double value = 0;
  };
  std::string name;       // snake_case
  std::string paper;      // "A" or "B"
  std::string figure;     // "Fig. 2a"
  std::string statement;  // the claim in words
  std::string reading;    // what was chosen where the paper is silent; may be empty
  std::string test;       // with its thresholds
  std::string measured;   // one sentence with the numbers
  Verdict verdict = Verdict::cannot_tell;
  // Whether it is true by a theorem, so that its test checks the code and is no finding.
  bool theorem = false;
  std::vector<Fact> facts;
};

// A query of a head that is worth looking at, and the keys that it selects (docs/examples.md).
struct Example {
  int layer = 0;
  int head = 0;
  std::string why;            // the criterion: "change", "far", "near" or "spread"
  double value = 0;           // of the criterion, a share between 0 and 1
  int document = 0;           // as the source numbers them, from 0
  Index query = 0;            // 0-based position in the document
  double covered = 0;         // share of the row's absolute weight on `keys`
  std::optional<int> others;  // how many other keys the query sees; absent in older files
  // 0-based positions of the heaviest keys that hold 95 % of the weight, at most 32, and the
  // weights on them to 4 digits, the largest first (with or without the change).
  std::vector<Index> keys;
  std::vector<double> weights;
  std::vector<double> originals;  // without what the scan changes; empty where it changes nothing
};

// Neighbouring tokens of a document as text, for examples to be read in.
struct Passage {
  int document = 0;
  Index first = 0;  // 0-based position of tokens[0]
  std::vector<std::string> tokens;
};

struct Results {
  Command command = Command::unknown;
  nlohmann::ordered_json tool = nlohmann::ordered_json::object();
  nlohmann::ordered_json model = nlohmann::ordered_json::object();
  nlohmann::ordered_json text = nlohmann::ordered_json::object();
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  std::vector<Dimension> coords;  // in order of insertion
  // In order of insertion. A deque, so that a reference to a metric outlives the next addition.
  std::deque<std::pair<std::string, LabelledArray>> metrics;
  std::vector<Flag> flags;
  std::vector<SummaryLine> summary;   // see summarize() in scan.hpp
  std::vector<Claim> claims;          // of a paper that was reproduced
  std::vector<Example> examples;      // head by head, see ScanOptions::examples
  std::vector<Passage> passages;      // what their queries and keys stand in, without overlaps
  std::optional<ChangeList> changes;  // of a diff or a comparison; see list_changes() in diff.hpp
  std::vector<std::string> notices;   // what a reader must know to read the numbers
  nlohmann::ordered_json timings = nlohmann::ordered_json::object();  // stage -> seconds
  bool partial = false;  // interrupted: only the first `layers_done` of coords.layer are in
  int layers_done = 0;

  // Adds a coordinate, or gives one other labels, in its metrics too; UsageError if these have
  // another number of places along it.
  void set_coord(const std::string& name, Coordinate labels);
  const Dimension* coord(std::string_view name) const;
  // The coordinate of that name; UsageError if there is none.
  const Dimension& require_coord(std::string_view name) const;
  Index coord_size(std::string_view name) const { return require_coord(name).size(); }
  // Its labels; UsageError if they are not numbers, or names.
  std::span<const double> coord_numbers(std::string_view name) const {
    return require_coord(name).numbers();
  }
  std::span<const std::string> coord_names(std::string_view name) const {
    return require_coord(name).names();
  }

  // Adds a metric of the given dims, all cells undefined. UsageError if a dim has no coordinate,
  // or if there is a metric of that name already. The reference stays valid.
  LabelledArray& add_metric(const std::string& name, const std::vector<std::string>& dims,
                            std::string unit);
  // Adds an array as a metric, and those of its dims that are no coordinates yet; UsageError if one
  // is a coordinate with other labels.
  LabelledArray& add_metric(const std::string& name, LabelledArray array);
  const LabelledArray* metric(std::string_view name) const;
  LabelledArray* metric(std::string_view name);
  // The metric of that name; UsageError if there is none.
  const LabelledArray& require_metric(std::string_view name) const;
  // One cell, by indices along dims (not by labels); UsageError if there is no such cell.
  double at(std::string_view name, std::initializer_list<Index> cell) const {
    return require_metric(name)(cell);
  }
};

// A choice of layers and heads: `layers` as "0-3,5", `heads` as "3.5,7.*"; empty means all. A head
// is chosen if both agree.
class HeadSelection {
 public:
  HeadSelection() = default;
  // Throws UsageError for a malformed pattern or one that names nothing in the model; it calls the
  // patterns the layers and heads of `options`. Layers `without` heads are in no selection.
  HeadSelection(std::string_view layers, std::string_view heads, int layer_count, int head_count,
                const std::string& options = "ScanOptions", std::span<const int> without = {});
  bool layer(int layer) const;
  bool contains(int layer, int head) const;

 private:
  std::vector<std::vector<bool>> chosen_;  // empty: all
};

// results.json, schema "headgauge.results/2" (docs/formats.md). An infinite value is written as
// undefined. Reading ignores keys it does not know, and throws BadInputError for what is not a
// results file and UnsupportedError for one of a later schema; `where` names the file in messages.
nlohmann::ordered_json to_json(const Results& results);
Results results_from_json(const nlohmann::ordered_json& json, const std::string& where);

// The text of results.json: one metric a line, numbers in their shortest exact form.
std::string results_text(const Results& results);
Results parse_results(std::string_view text, const std::string& where);

// Reads and writes results.json. Writing goes to a temporary file that is renamed; on failure
// nothing is left behind and ResourceError is thrown.
void write_results(const Results& results, const std::string& path);
// A path that ends in .jsonl is one of the records of a monitor.
Results read_results(const std::string& path);

// The records of a training monitor (docs/formats.md, "Records of a monitor") as results over
// layer, head and step; throws as parse_results().
Results parse_monitor(std::string_view text, const std::string& where);

// heads.csv: one row per layer, head and length, one column per metric of exactly these dims;
// an undefined cell is empty.
std::string heads_csv_text(const Results& results);
void write_heads_csv(const Results& results, const std::string& path);

}  // namespace headgauge
