// The options of make_plan().
#include "headgauge/plan.hpp"

namespace headgauge {

std::vector<Option> options_of(PlanOptions& o) {
  return declared_options("PlanOptions", {{"memory", &o.memory},
                                          {"allow", &o.allow},
                                          {"allow_replay", &o.allow_replay},
                                          {"allow_answers", &o.allow_answers},
                                          {"curve", &o.curve},
                                          {"patterns", &o.patterns},
                                          {"normalizers", &o.normalizers},
                                          {"layers", &o.layers},
                                          {"whole_layers", &o.whole_layers},
                                          {"steps", &o.steps},
                                          {"random_plans", &o.random_plans},
                                          {"threads", &o.threads},
                                          {"seed", &o.seed}});
}

}  // namespace headgauge
