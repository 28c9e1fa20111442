// What is done with results that somebody else wrote (headgauge report, headgauge diff), and with
// the limits of a gate.
#pragma once

#include <string>
#include <vector>

#include "fuzz/contract.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/plan.hpp"
#include "headgauge/report.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"

namespace headgauge::fuzzing {

// Results without a fault, to set others against.
inline const Results& sound_results() {
  static const Results results =
      headgauge::read_results(HEADGAUGE_SOURCE_DIR "/fuzz/corpus/results/scan.json");
  return results;
}

// All that is written of results: the file, which can be read again, the table and the page.
inline void write_all(const Results& results) {
  static_cast<void>(heads_csv_text(results));
  const std::string text = results_text(results);
  require(results_text(parse_results(text, "written")) == text);
  write_report(results, "/dev/null");
}

inline void compare(const Results& before, const Results& after) {
  works_or_is_refused([&] {
    Results both = diff(before, after);
    both.changes = list_changes(both);
    both.summary = summarize_changes(both, *both.changes);
    write_all(both);
  });
}

inline void read_results(std::span<const std::byte> bytes) {
  const Results results = parse_results(text_of(bytes), "input");
  works_or_is_refused([&] { static_cast<void>(summarize(results)); });
  works_or_is_refused([&] { static_cast<void>(summarize_plan(results)); });
  works_or_is_refused([&] { write_all(results); });
  compare(results, results);
  compare(results, sound_results());
  compare(sound_results(), results);
}

inline void read_monitor(std::span<const std::byte> bytes) {
  const Results results = parse_monitor(text_of(bytes), "input");
  write_all(results);
  compare(results, results);
}

inline void read_limits(std::span<const std::byte> bytes) {
  static const Results changed = [] {
    Results later = sound_results();
    for (auto& [name, metric] : later.metrics) {
      for (double& value : metric.values) value += 0.5;
    }
    return diff(sound_results(), later);
  }();
  // Each by itself: one that is refused does not hide the next.
  for (const Limit& limit : parse_limits(text_of(bytes), "input")) {
    works_or_is_refused([&] { static_cast<void>(check_limits(changed, {&limit, 1})); });
  }
}

}  // namespace headgauge::fuzzing
