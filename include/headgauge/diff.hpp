// Compares two runs and checks their changes against limits.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgauge/options.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

struct DiffOptions {
  std::string old_file = "old";  // names of the two runs in messages and settings
  std::string new_file = "new";
  std::vector<std::string> metrics = {};  // only these; empty: all metrics of both runs
  std::string heads = {};                 // only these (HeadSelection), and only metrics of heads
};

std::vector<Option> options_of(DiffOptions& options);

// Sets two runs side by side, as far as they overlap. Matches cells by their labels, never by their
// indices. Each metric gets the dimension `run` ("old", "new") after layer and head, and a twin
// NAME_change (new - old) without it, whose standard error treats the runs as independent. Metrics
// by position get a twin only if options.metrics names them. Model and text come from the new run.
// The settings "old" and "new" describe the runs, the flags are those gained and lost, and notices
// list what was left out. Throws BadInputError if the runs have nothing in common, UsageError for
// unknown metrics and heads.
Results diff(const Results& before, const Results& after, const DiffOptions& options = {});

// Compares two models on several texts: pairs each run before with the run after on the same texts.
// Values and changes are means over the pairs. All standard errors come from the scatter between
// the pairs, so what both runs of a pair share does not count. Flags are those gained or lost in
// every pair. One run on each side is compared as above. Throws BadInputError, too, for fewer than
// 4 pairs, and for a run without just one partner.
Results diff(std::span<const Results> before, std::span<const Results> after,
             const DiffOptions& options = {});

// Rounding error of float32, relative to the value: a smaller difference is no change.
inline constexpr double kRounding = 1e-6;

// Lists the values of diff() or compare() that changed. Changes with standard errors are tested by
// t with their degrees of freedom, at the false discovery rate `level` over
// all of them (Benjamini and Hochberg). If nothing changed, the probability of listing anything is
// at most `level`. The commands keep the list in Results::changes.
ChangeList list_changes(const Results& results, double level = kFalseDiscoveries);

// Describes the changes; `list` must come from list_changes(diff).
std::vector<SummaryLine> summarize_changes(const Results& diff, const ChangeList& list);

// A limit on the change of a metric (docs/formats.md). A value exceeds it if its change passes the
// limit by more than `errors` standard errors of the change.
struct Limit {
  std::string metric;
  std::string heads;                                      // HeadSelection; empty: all
  std::vector<std::pair<std::string, Coordinate>> where;  // dimension -> labels; empty: all
  double max_increase = std::numeric_limits<double>::infinity();
  double max_decrease = std::numeric_limits<double>::infinity();
  bool relative = false;  // max_increase and max_decrease are fractions of the old value
  double errors = 0;
  std::string place;  // the place in the file, for messages
};

// Parse and read a file of limits, schema "headgauge.limits/1". Throw BadInputError for invalid
// content, including unknown keys, and UnsupportedError for a later schema.
std::vector<Limit> parse_limits(std::string_view text, const std::string& where);
std::vector<Limit> read_limits(const std::string& path);

struct LimitCheck {
  std::int64_t values = 0;     // number of values that the limit covers and that the old run has
  std::int64_t exceeded = 0;   // number of these that exceed it
  std::int64_t unchecked = 0;  // number undefined in the old run but defined in the new one
  Change worst;                // the change that exceeds the limit most, if one does
  double allowed = 0;          // the limit that applied to `worst`, without standard errors
  bool found_on_one_side = false;  // critical N was found in only one of the runs
};

// Checks the values of diff() against each limit. A value that became undefined exceeds it. So does
// a critical N that is no longer found (an increase) or newly found (a decrease). Throws
// BadInputError for a limit that covers no value of both runs.
std::vector<LimitCheck> check_limits(const Results& diff, std::span<const Limit> limits);

// Returns "limit exceeded: entropy of head 3.5 at length 64: 0.5 -> 0.7, an increase of 0.2 where
// 0.1 is allowed" for a check with LimitCheck::exceeded > 0.
std::string exceeded_sentence(const Limit& limit, const LimitCheck& check);

// Returns "3.5" for a head, "3.*" for a layer, "all" for the model.
std::string head_text(const Change& change);
// Returns four digits, so that a change in the third is visible; "none" for the metric's value for
// none, "-" for an undefined value.
std::string value_text(const Change& change, double value);

}  // namespace headgauge
