// The options of simulate().
#include "headgauge/synthetic.hpp"

namespace headgauge {

std::vector<Option> options_of(SyntheticOptions& o) {
  return declared_options("SyntheticOptions", {{"tokens", &o.tokens},
                                               {"dimension", &o.dimension},
                                               {"variance", &o.variance},
                                               {"radius", &o.radius},
                                               {"values", &o.values},
                                               {"seed", &o.seed},
                                               {"scales", &o.scales},
                                               {"horizons", &o.horizons},
                                               {"grid", &o.grid},
                                               {"points", &o.points},
                                               {"replicates", &o.replicates},
                                               {"full", &o.full},
                                               {"normalizer", &o.normalizer},
                                               {"reference", &o.reference},
                                               {"reference_tokens", &o.reference_tokens},
                                               {"radii", &o.radii},
                                               {"threads", &o.threads}});
}

}  // namespace headgauge
