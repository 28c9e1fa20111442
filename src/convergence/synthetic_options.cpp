// The options of simulate().
#include "headgauge/synthetic.hpp"

namespace headgauge {

std::vector<Option> options_of(SyntheticOptions& o) {
  return declared_options({{"SyntheticOptions::tokens", &o.tokens},
                           {"SyntheticOptions::dimension", &o.dimension},
                           {"SyntheticOptions::variance", &o.variance},
                           {"SyntheticOptions::radius", &o.radius},
                           {"SyntheticOptions::values", &o.values},
                           {"SyntheticOptions::seed", &o.seed},
                           {"SyntheticOptions::scales", &o.scales},
                           {"SyntheticOptions::horizons", &o.horizons},
                           {"SyntheticOptions::grid", &o.grid},
                           {"SyntheticOptions::points", &o.points},
                           {"SyntheticOptions::replicates", &o.replicates},
                           {"SyntheticOptions::full", &o.full},
                           {"SyntheticOptions::normalizer", &o.normalizer},
                           {"SyntheticOptions::reference", &o.reference},
                           {"SyntheticOptions::reference_tokens", &o.reference_tokens},
                           {"SyntheticOptions::radii", &o.radii},
                           {"SyntheticOptions::threads", &o.threads}});
}

}  // namespace headgauge
