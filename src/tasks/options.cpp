// The options of make_task_cases().
#include "headgauge/generators.hpp"

namespace headgauge {

std::vector<Option> options_of(TaskOptions& o) {
  return declared_options("TaskOptions", {{"length", &o.length},
                                          {"cases", &o.cases},
                                          {"text", &o.text},
                                          {"items", &o.items},
                                          {"seed", &o.seed}});
}

}  // namespace headgauge
