// The options of both reproductions.
#include "headgauge/reproduce.hpp"

namespace headgauge {

std::vector<Option> options_of(LimitsOptions& o) {
  return declared_options({{"LimitsOptions::x", choice(o.x, {"embedding", "hidden", "value"})},
                           {"LimitsOptions::lengths", &o.lengths},
                           {"LimitsOptions::threads", &o.threads},
                           {"LimitsOptions::seed", &o.seed}});
}

std::vector<Option> options_of(TokensOptions& o) {
  return declared_options({{"TokensOptions::full", &o.full},
                           {"TokensOptions::dimension", &o.dimension},
                           {"TokensOptions::grid", &o.grid},
                           {"TokensOptions::replicates", &o.replicates},
                           {"TokensOptions::radii", &o.radii},
                           {"TokensOptions::length", &o.length},
                           {"TokensOptions::threads", &o.threads},
                           {"TokensOptions::seed", &o.seed}});
}

}  // namespace headgauge
