// The largest changes between two runs, or between a model and an intervention.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// The false discovery rate: the expected share of listed changes that are due to chance.
inline constexpr double kFalseDiscoveries = 0.05;

// One changed value: the one that stands out most for its metric, head and intervention.
struct Change {
  std::string metric;
  std::vector<std::pair<std::string, std::string>> labels;  // dim -> label
  std::vector<Index> cell;                                  // along the dims of the labels
  std::optional<double> none;                               // the value that means "none was found"
  double before = kUndefined;
  double after = kUndefined;
  double change = kUndefined;
  double standard_error = kUndefined;
  double errors = kUndefined;  // |change| in standard errors; infinite if the standard error is 0
  double degrees_of_freedom = kUndefined;  // degrees of freedom of the standard error
  double p = kUndefined;                   // p-value of Welch's t-test
  double adjusted_p = kUndefined;  // the smallest false discovery rate at which the change is
                                   // listed
  double relative = 0;             // |change| over the largest |value| of the metric
  std::int64_t values = 0;         // number of values of this metric, head and intervention
  std::int64_t changed = 0;        // number of these that changed
};

struct ChangeList {
  double level = kFalseDiscoveries;  // false discovery rate of the list
  std::vector<Change> measured;      // changes with standard errors, smallest p first
  std::vector<Change> unmeasured;    // changes of metrics and heads without standard errors, by
                                     // relative change
  std::int64_t values = 0;           // number of values with standard errors
  std::int64_t changed = 0;          // number of these whose adjusted p is at most `level`
  double by_chance = 0;              // number of changed values expected by chance
  std::int64_t unmeasured_values = 0;
  std::int64_t unmeasured_changed = 0;
  // Number of values left out: they have no standard errors, but others of the same metric and head
  // do.
  std::int64_t too_few = 0;
  std::int64_t found = 0;  // number of changes in both lists; a file holds only the first of them
};

}  // namespace headgauge
