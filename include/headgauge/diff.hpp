// What changed between two runs, and whether it stays within limits.
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
  std::string old_file = "old";  // how messages and settings call the two
  std::string new_file = "new";
  std::vector<std::string> metrics = {};  // only these; empty: all that both have
  std::string heads = {};                 // only these (HeadSelection), and only metrics of heads
};

std::vector<Option> options_of(DiffOptions& options);

// Two runs side by side, as far as they overlap: cells are matched by their labels, never by their
// places. Each metric gets the dimension `run` ("old", "new") after layer and head, and a twin
// NAME_change (new - old) without it, whose standard error takes the two as independent; those by
// position have a twin only where options.metrics names them. Model and text are those of the new
// one; settings "old" and "new" say what was compared, flags are those gained and lost, and notices
// say what was left out. Throws BadInputError where the two have nothing in common, UsageError for
// metrics and heads that are not there.
Results diff(const Results& before, const Results& after, const DiffOptions& options = {});

// What float32 rounds away, relative to the value: no change.
inline constexpr double kRounding = 1e-6;

// The values of diff() or compare() that changed: by more than `errors` standard errors where they
// have some. The commands keep the list in Results::changes.
ChangeList list_changes(const Results& results, double errors = 2);

// What changed, in sentences; `list` is that of list_changes(diff).
std::vector<SummaryLine> summarize_changes(const Results& diff, const ChangeList& list);

// How much a metric may change (docs/formats.md). It is exceeded where it is passed by more than
// `errors` standard errors of the change.
struct Limit {
  std::string metric;
  std::string heads;                                      // HeadSelection; empty: all
  std::vector<std::pair<std::string, Coordinate>> where;  // dimension -> labels; empty: all
  double max_increase = std::numeric_limits<double>::infinity();
  double max_decrease = std::numeric_limits<double>::infinity();
  bool relative = false;  // the two are fractions of the old value
  double errors = 0;
  std::string place;  // in the file, for messages
};

// Limits of a file, schema "headgauge.limits/1". Throws BadInputError for what is not such a file,
// keys it does not know among it, and UnsupportedError for a later schema.
std::vector<Limit> parse_limits(std::string_view text, const std::string& where);
std::vector<Limit> read_limits(const std::string& path);

struct LimitCheck {
  std::int64_t values = 0;         // that the limit is for and the old run has
  std::int64_t exceeded = 0;       // how many of them exceed it
  std::int64_t unchecked = 0;      // undefined in the old run, defined in the new one
  Change worst;                    // that exceeds it most, where one does
  double allowed = 0;              // what it was allowed, without standard errors
  bool found_on_one_side = false;  // a critical N in one of the runs alone
};

// What the values of diff() say to each limit. A value that became undefined exceeds it, and so
// does a critical N that is no longer found (an increase) or found anew (a decrease). Throws
// BadInputError for a limit that is for no value of both runs.
std::vector<LimitCheck> check_limits(const Results& diff, std::span<const Limit> limits);

}  // namespace headgauge
