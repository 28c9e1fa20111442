// The results of every analysis, as kept in memory and in files: named coordinates, metrics as
// labelled arrays over them, and flags, sentences and claims about them.
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
#include "headgauge/provenance.hpp"

namespace headgauge {

// The command that produced the results.
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
  series,
  monitor,  // headgauge.Monitor of the Python package: a model during training
};
// Returns the command as typed: "scan", "converge --synthetic", "reproduce limits"; empty for
// unknown.
std::string_view command_text(Command command);

// A finding about one head at the longest length that deserves the user's attention.
struct Flag {
  std::string name;
  int layer = 0;
  int head = 0;
  int length = 0;
  double value = 0;
  double threshold = 0;
  std::string source;
  std::string advice;  // from compare(): what was tried, and the outcome; empty for other commands
  std::string change = {};  // of diff(): "gained" or "lost"
};

// The origin of a number in a sentence.
struct FactSource {
  enum class Kind {
    cell,            // a cell of the metric `name`
    standard_error,  // the standard error of that cell
    low,             // the ends of its 95 % interval
    high,
    p,               // the p of its test
    coordinate,      // label cell[0] of the coordinate `name`
    setting,         // the setting `name`
    flags,           // the number of flags with this name
    heads,           // the number of measured heads
    heads_with,      // the number of heads with a value of at least 1 of the metric `name`
    constant,        // a fixed number that the sentence states
    derived,         // computed from other numbers
    critical_range,  // the largest N searched for critical N
    length_limit,    // the largest whole number below 6 % of the longest length
  };
  Kind kind = Kind::derived;
  std::string name = {};
  std::vector<Index> cell = {};  // along the metric's dims
};
// Returns the name used in results.json: "cell", "standard_error", ...
std::string_view kind_text(FactSource::Kind kind);

// A number in a sentence, recorded so that tests can check it.
struct Fact {
  std::string text;  // as written in the sentence
  FactSource source;
  double value = 0;  // unrounded
  double scale = 1;  // text = rounded value * scale (100 for a percentage)
};

// A finding, in words.
struct SummaryLine {
  std::string text;
  std::vector<Fact> facts;         // in the order of the text
  std::vector<std::string> heads;  // "layer.head", as written in the text
  bool lead = false;         // part of the answer, which the first screen and the page open with
  std::string verdict = {};  // of what was tried: "good", "bad" or "unsure"; empty without one
  bool aside = false;        // about critical N or a null: the report shows it under "more"
  std::string means = {};    // what the finding means for the reader; may be empty
  std::string next = {};     // the command to run next, in backticks, and what it shows
};

// The verdict on a claim. cannot_tell: the test is inconclusive. not_tested: the numbers that the
// test needs are missing.
enum class Verdict { holds, does_not_hold, cannot_tell, not_tested };
// "holds", "does not hold", "cannot tell", "not tested".
std::string_view verdict_text(Verdict verdict);

// A claim of a paper, checked against measurements. The test described in `test` decides the
// verdict; `facts` are the numbers that it used.
struct Claim {
  struct Fact {
    std::string name;
    double value = 0;
  };
  std::string name;       // snake_case
  std::string paper;      // "A" or "B"
  std::string figure;     // "Fig. 2a"
  std::string statement;  // the claim in words
  std::string reading;    // the interpretation chosen where the paper is unclear; may be empty
  std::string test;       // the test with its thresholds
  std::string measured;   // one sentence with the numbers
  Verdict verdict = Verdict::cannot_tell;
  // True if a theorem proves the claim, so that its test only checks the code; `ours` if the
  // theorem is headgauge's.
  bool theorem = false, ours = false;
  // Each threshold of ours that turns the verdict if it moves by a fifth, in words.
  std::vector<std::string> turns;
  std::vector<Fact> facts;
};

// A query of a head worth looking at, and the keys that it selects (docs/examples.md).
struct Example {
  int layer = 0;
  int head = 0;
  std::string why;            // the criterion: "change", "far", "near" or "spread"
  double value = 0;           // value of the criterion, a share between 0 and 1
  int document = 0;           // the source's number of the document, from 0
  Index query = 0;            // 0-based position in the document
  double covered = 0;         // share of the row's absolute weight that lies on `keys`
  std::optional<int> others;  // number of other keys that the query sees; absent in older files
  // 0-based positions of the heaviest keys that hold 95 % of the weight, at most 32, and the
  // weights on them to 4 digits. Keys are ordered by their weight with or without the change,
  // whichever is larger; largest first.
  std::vector<Index> keys;
  std::vector<double> weights;
  std::vector<double> originals;  // weights without the scan's change; empty if the scan changes
                                  // nothing
};

// A token, and its loss in the model as it is and under each change of a comparison.
struct TokenLoss {
  int document = 0;            // the source's number of the document, from 0
  Index position = 0;          // 0-based position of the token
  std::vector<double> losses;  // nats, along the dim of the interventions; the original's first
  std::string task = {};       // if the token is part of the answer of a case; empty for a text
};

// Consecutive tokens of a document as text, in which examples and losses are shown.
struct Passage {
  int document = 0;
  Index first = 0;  // 0-based position of tokens[0]
  std::vector<std::string> tokens;
};

struct Results {
  Command command = Command::unknown;
  ToolRecord tool;
  ModelRecord model;
  TextRecord text;
  // Option::key() -> option_setting(), and what some commands add: the settings of experiments or
  // of two files, texts, what was fitted. These nest, so they are no list of options.
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  std::vector<Dimension> coords;  // in order of insertion
  // The metrics in order of insertion; a deque, so that a reference to a metric outlives the next
  // addition.
  std::deque<std::pair<std::string, LabelledArray>> metrics;
  std::vector<Flag> flags;
  std::vector<SummaryLine> summary;  // see summarize() in scan.hpp
  std::vector<Claim> claims;         // claims of a reproduced paper
  std::vector<Example> examples;     // head by head, see ScanOptions::examples
  // The tokens whose loss the changes of a comparison alter most, see CompareOptions.
  std::vector<TokenLoss> token_losses;
  std::vector<Passage> passages;      // the text around examples or these tokens, without overlaps
  std::optional<ChangeList> changes;  // changes of a diff or a comparison; see list_changes() in
                                      // diff.hpp
  std::vector<std::string> notices;   // caveats that readers need to interpret the numbers
  Timings timings;
  std::string request = {};  // identifies the request; empty unless a run saved the results
  bool partial = false;  // interrupted: only the first `layers_done` of coords.layer are present
  int layers_done = 0;

  // Adds a coordinate, or replaces the labels of one, also in its metrics; UsageError if these have
  // a different size along it.
  void set_coord(const std::string& name, Coordinate labels);
  const Dimension* coord(std::string_view name) const;
  // Returns the coordinate of that name; UsageError if there is none.
  const Dimension& require_coord(std::string_view name) const;
  Index coord_size(std::string_view name) const { return require_coord(name).size(); }
  // Return its labels; UsageError if they have the other type.
  std::span<const double> coord_numbers(std::string_view name) const {
    return require_coord(name).numbers();
  }
  std::span<const std::string> coord_names(std::string_view name) const {
    return require_coord(name).names();
  }

  // Adds a metric with the given dims, all cells undefined. Throws UsageError if a dim has no
  // coordinate or a metric of that name exists. The reference stays valid.
  LabelledArray& add_metric(const std::string& name, const std::vector<std::string>& dims,
                            std::string unit);
  // Adds an array as a metric, and coordinates for those of its dims that are new. Throws
  // UsageError if a coordinate of that name has other labels.
  LabelledArray& add_metric(const std::string& name, LabelledArray array);
  std::vector<std::string> metric_names() const;
  const LabelledArray* metric(std::string_view name) const;
  LabelledArray* metric(std::string_view name);
  // Returns the metric of that name; UsageError if there is none.
  const LabelledArray& require_metric(std::string_view name) const;
  // Returns one cell, by indices along dims (not by labels); UsageError if there is no such cell.
  double at(std::string_view name, std::initializer_list<Index> cell) const {
    return require_metric(name)(cell);
  }
};

// A selection of layers and heads: `layers` as "0-3,5", `heads` as "3.5,7.*"; empty means all. A
// head is selected if both patterns match it.
class HeadSelection {
 public:
  HeadSelection() = default;
  // Throws UsageError for a malformed pattern or one that matches nothing in the model. The message
  // names the patterns as members of `options`. Layers in `without` have no heads and are never
  // selected.
  HeadSelection(std::string_view layers, std::string_view heads, int layer_count, int head_count,
                const std::string& options = "ScanOptions", std::span<const int> without = {});
  bool layer(int layer) const;
  bool contains(int layer, int head) const;

 private:
  std::vector<std::vector<bool>> chosen_;  // empty: all
};

// Write and read the JSON of results.json, schema "headgauge.results/3" (docs/formats.md). An
// infinite value is written as undefined. Reading ignores unknown keys. It throws BadInputError if
// the content is not a results file and UnsupportedError for a later schema; `where` names the file
// in messages.
nlohmann::ordered_json to_json(const Results& results);
Results results_from_json(const nlohmann::ordered_json& json, const std::string& where);

// Write and read the text of results.json: one metric per line, numbers in their shortest exact
// form.
std::string results_text(const Results& results);
Results parse_results(std::string_view text, const std::string& where);

// Writes results.json to a temporary file and renames it. On failure leaves nothing behind and
// throws ResourceError.
void write_results(const Results& results, const std::string& path);
// Reads results.json or, if the path ends in .jsonl, the records of a monitor.
Results read_results(const std::string& path);

// Parses the records of a training monitor (docs/formats.md, "Records of a monitor") into results
// over layer, head and step. Throws what parse_results() throws.
Results parse_monitor(std::string_view text, const std::string& where);

// The metrics of heads as a table, which heads.csv and the Python package have: a row for each cell
// along `rows`, columns for each metric of these dims and for its parts (NAME_stderr, NAME_low,
// NAME_high, NAME_p). A metric without length stands at the longest; of the outcomes, that of text.
struct HeadsTable {
  std::vector<std::string> row_names;  // layer, head, ..., length or step
  std::vector<Dimension> rows = {};    // fewer than names if a coordinate is missing
  std::vector<std::pair<std::string, std::vector<double>>> columns = {};
  std::vector<std::string> left_out = {};  // metrics of other dims
};
HeadsTable heads_table(const Results& results);

// Returns it as the text of heads.csv. An undefined cell is empty.
std::string heads_csv_text(const Results& results);

}  // namespace headgauge
