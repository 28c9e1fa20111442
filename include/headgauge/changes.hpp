// What changed most between two runs, or between a model and an intervention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// The share of all that is listed which may be there by chance.
inline constexpr double kFalseDiscoveries = 0.05;

// One value that changed: of its metric, head and intervention the one that stands out most.
struct Change {
  std::string metric;
  std::vector<std::pair<std::string, std::string>> labels;  // dim -> label
  std::vector<Index> cell;                                  // along the dims of the labels
  std::optional<double> none;  // the value that says that none was found
  double before = kUndefined;
  double after = kUndefined;
  double change = kUndefined;
  double standard_error = kUndefined;
  double errors = kUndefined;  // |change| in standard errors; infinite where these are 0
  double degrees_of_freedom = kUndefined;  // of the standard error
  double p = kUndefined;                   // of so large a change by chance: Welch's t
  double adjusted_p = kUndefined;  // the smallest false discovery rate at which it is listed
  double relative = 0;             // |change| over the largest |value| of the metric
  std::int64_t values = 0;         // of this metric, head and intervention
  std::int64_t changed = 0;        // how many of them changed
};

struct ChangeList {
  double level = kFalseDiscoveries;  // at most this share of what is listed is there by chance
  std::vector<Change> measured;      // with standard errors, the smallest p first
  std::vector<Change> unmeasured;    // of metrics and heads without any, by their relative change
  std::int64_t values = 0;           // that have standard errors
  std::int64_t changed = 0;          // of these, those whose adjusted p is at most `level`
  double by_chance = 0;              // how many of those that changed may be there by chance
  std::int64_t unmeasured_values = 0;
  std::int64_t unmeasured_changed = 0;
  // Left out: without errors, where others of the metric and head have some.
  std::int64_t too_few = 0;
  std::int64_t found = 0;  // changes of both lists, of which a file holds the first
};

}  // namespace headgauge
