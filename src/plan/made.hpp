// Results of a search and its confirmation, before they become Results.
#pragma once

#include <string>
#include <vector>

#include "plan/joint_change.hpp"

namespace headgauge {

// The methods that give a plan of a certain size, in the order of the dim `method`.
enum class Method {
  plan,          // the result of the search
  windows,       // equal_windows()
  layers,        // one choice for each layer, by the same gates
  random,        // mean over dealt() plans
  heaviest_keys  // an oracle
};
inline constexpr int kMethods = 5;
const char* method_text(Method method);

// A method's plan on the confirmation texts; empty if the method gives none.
struct MethodResult {
  PerHead<HeadPlan> plan;
  double share = kUndefined;
  Judged change;
};

// What became of the heads whose gates were not clear at the end of a search.
struct Exchanges {
  int unclear = 0;
  int tried = 0;  // other choices, on the check documents
  int kept = 0;   // those that lowered the cost
};

inline constexpr const char* kGates = "gates";  // BudgetResult::start of what the search preferred

struct BudgetResult {
  std::string label;  // "50 %"
  PerHead<HeadPlan> plan;
  double share = 1;
  double allowed = 1;           // the share that rivals may keep, at least the plan's own
  std::optional<double> asked;  // the share that was requested as a maximum
  std::string start;            // what found the plan
  PerHead<HeadPlan> by_layer;   // the rival of whole layers; empty: none
  Exchanges exchanges;
  double check_change = 0;            // on the check texts
  double check_cost = 0;              // of text, replay and answers there
  std::vector<MethodResult> methods;  // by Method
  std::vector<Judged> draws;          // one per dealt plan
  double dealt_p = kUndefined;        // of the plan's cost among theirs
};

}  // namespace headgauge
