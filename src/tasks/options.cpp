// The options of make_task_cases().
#include "headgauge/generators.hpp"

namespace headgauge {

std::vector<Option> options_of(TaskOptions& o) {
  return declared_options({{"TaskOptions::length", &o.length},
                           {"TaskOptions::cases", &o.cases},
                           {"TaskOptions::text", &o.text},
                           {"TaskOptions::items", &o.items},
                           {"TaskOptions::seed", &o.seed}});
}

}  // namespace headgauge
