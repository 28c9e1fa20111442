// Describes what two runs do not share.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "headgauge/array.hpp"
#include "headgauge/diff.hpp"

namespace headgauge {

// What a reader must know of errors that take runs of the same text as independent.
inline constexpr const char* kIndependentRuns =
    "standard errors of changes assume independent runs, so they are too large where the runs move "
    "together, and too small where they move oppositely (4 texts or more, each scanned by itself, "
    "are compared in pairs: docs/diff.md)";

// Collects what a diff leaves out.
class LeftOut {
 public:
  LeftOut(const Results& before, const Results& after, const DiffOptions& options)
      : before_(before), after_(after), options_(options) {}

  // Metrics, by the reason for leaving them out.
  std::vector<std::string> old_only, new_only;
  std::vector<std::string> different;       // other dims or another unit
  std::vector<std::string> times;           // measured times, unless they were asked for
  std::vector<std::string> following;       // NAME_change if NAME is compared
  std::vector<std::string> without_change;  // losses of a model without the change of its heads
  std::vector<std::string> of_longest;      // of the longest length, which differs between the runs
  std::vector<std::string> disjoint;        // no label in common along some dim
  // Number of values without a change, by metric.
  std::map<std::string, std::int64_t> undefined_old, undefined_new;  // undefined in this run only
  std::map<std::string, std::int64_t> found, lost;  // critical N found only in the new run, only in
                                                    // the old run
  bool flags = false;

  // Records the labels along a dim that only one of the two runs has.
  void compare_labels(const std::string& name, const std::vector<SharedPlace>& shared);

  [[noreturn]] void fail_without_overlap() const;

  // Returns all notices: what was left out, and what else a reader must know.
  std::vector<std::string> sentences(const Results& diff) const;

 private:
  void say_what_is_missing(std::vector<std::string>& all) const;
  // Describes how reliable the standard errors of the changes are.
  void say_what_errors_hold(const Results& diff, std::vector<std::string>& all) const;

  const Results& before_;
  const Results& after_;
  const DiffOptions& options_;
  std::string old_labels_, new_labels_;  // labels that only one run has
};

// Compares the texts of two runs, by what the results know of them.
enum class SameTexts { unknown, yes, no };
SameTexts compare_texts(const Results& before, const Results& after);

// Returns the metrics of both runs, without those by position.
std::vector<std::string> shared_names(const Results& before, const Results& after);

// Returns the settings of `results` that differ in `other`, without output options.
nlohmann::ordered_json different_settings(const Results& results, const Results& other);

// Describes one of several runs by its file, command, model, texts and the given settings.
nlohmann::ordered_json described_run(const Results& results, const std::string& file,
                                     nlohmann::ordered_json settings);

// Throws BadInputError for the results of a diff, and for layers, heads or lengths that are no
// numbers.
void require_one_run(const Results& results, const std::string& file);

// Returns whether two models have the same family, sizes and vocabulary.
bool is_same_kind(const ModelRecord& a, const ModelRecord& b);

// Lists names: "a, b and 3 more". Leaves out twins by position whose metric is named.
std::string names_text(const std::vector<std::string>& names);
// Lists names with counts: "entropy (3), margin (12)".
std::string counts_text(const std::map<std::string, std::int64_t>& counts);

// One of several runs, and the name that notices give it.
struct NamedRun {
  const Results* results;
  std::string name;
};

// Adds the notices of the runs: once if all have it, else behind the run's name.
void inherit_notices(std::vector<std::string>& all, std::span<const NamedRun> runs);

// Returns whether the results have standard errors, of which none says how many batches it comes
// from.
bool lacks_freedom(const Results& results);

}  // namespace headgauge
