// What a search made and a confirmation measured, before it is written into results.
#pragma once

#include <string>
#include <vector>

#include "plan/search.hpp"

namespace headgauge {

// The ways of getting a plan of a size, in the order of the dim `method`.
enum class Method {
  plan,          // what the search found
  windows,       // equal_windows() without sinks
  sinks,         // equal_windows() with sinks
  pyramid,       // the slope that is best on the texts of the search
  layers,        // the search over whole layers
  converge,      // ConvergeBudgets
  random,        // the mean over dealt() plans
  heaviest_keys  // the oracle
};
inline constexpr int kMethods = 8;
const char* method_text(Method method);

// A plan by some method on the texts of the confirmation; empty where the method gives none.
struct MethodResult {
  PerHead<HeadPlan> plan;
  double share = kUndefined;
  ByDocument change;
};

struct BudgetResult {
  std::string label;  // "50 %"
  PerHead<HeadPlan> plan;
  double share = 1;
  double allowed = 1;           // the share that rivals of the plan may keep, at least its own
  std::optional<double> asked;  // the share that the plan was asked to stay within
  std::string start;            // of the search: what the plan was found from
  double search_change = 0;     // on the texts of the search
  double check_change = 0;      // and on those of the check
  std::vector<MethodResult> methods;  // by Method
  std::vector<ByDocument> draws;      // by dealt plan
};

struct Screening {
  std::vector<HeadPlan> candidates;
  // By layer, then head, then candidate, the changes by document; empty: not tried.
  PerHead<std::vector<ByDocument>> changes;
};

}  // namespace headgauge
