// What two runs do not share, in words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "headgauge/array.hpp"
#include "headgauge/diff.hpp"

namespace headgauge {

// Collects what a diff leaves out.
class LeftOut {
 public:
  LeftOut(const Results& before, const Results& after, const DiffOptions& options)
      : before_(before), after_(after), options_(options) {}

  // Metrics, by why they are left out.
  std::vector<std::string> old_only, new_only;
  std::vector<std::string> different;   // other dims or another unit
  std::vector<std::string> times;       // of a clock, unless they were asked for
  std::vector<std::string> following;   // NAME_change where NAME is compared
  std::vector<std::string> of_longest;  // of the longest length, which is not the same
  std::vector<std::string> disjoint;    // no label in common along some dim
  // Values without a change, by metric.
  std::map<std::string, std::int64_t> undefined_old, undefined_new;  // in this one alone
  std::map<std::string, std::int64_t> found, lost;                   // critical N: in the new, old
  bool flags = false;

  // Notes the labels along a dim that only one of the two has.
  void compare_labels(const std::string& name, const std::vector<SharedPlace>& shared);

  [[noreturn]] void fail_without_overlap() const;

  // All of it, and what else a reader must know.
  std::vector<std::string> sentences(const Results& diff) const;

 private:
  void say_what_is_missing(std::vector<std::string>& all) const;
  // How far the errors of changes can be trusted.
  void say_what_errors_hold(const Results& diff, std::vector<std::string>& all) const;

  const Results& before_;
  const Results& after_;
  const DiffOptions& options_;
  std::string old_labels_, new_labels_;  // of one of the two alone
};

// The metrics of both, those by position aside.
std::vector<std::string> shared_names(const Results& before, const Results& after);

// The settings of `results` that `other` has differently, what is only said about output aside.
nlohmann::ordered_json different_settings(const Results& results, const Results& other);

}  // namespace headgauge
