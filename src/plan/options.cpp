// The options of make_plan().
#include "headgauge/plan.hpp"

namespace headgauge {

std::vector<Option> options_of(PlanOptions& o) {
  return declared_options({{"PlanOptions::memory", &o.memory},
                           {"PlanOptions::allow", &o.allow},
                           {"PlanOptions::allow_replay", &o.allow_replay},
                           {"PlanOptions::allow_answers", &o.allow_answers},
                           {"PlanOptions::curve", &o.curve},
                           {"PlanOptions::patterns", &o.patterns},
                           {"PlanOptions::normalizers", &o.normalizers},
                           {"PlanOptions::layers", &o.layers},
                           {"PlanOptions::whole_layers", &o.whole_layers},
                           {"PlanOptions::steps", &o.steps},
                           {"PlanOptions::random_plans", &o.random_plans},
                           {"PlanOptions::threads", &o.threads},
                           {"PlanOptions::seed", &o.seed}});
}

}  // namespace headgauge
