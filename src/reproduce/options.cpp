// The options of both reproductions.
#include "headgauge/reproduce.hpp"

namespace headgauge {

std::vector<Option> options_of(LimitsOptions& o) {
  return declared_options("LimitsOptions", {{"x", choice(o.x, {"embedding", "hidden", "value"})},
                                            {"lengths", &o.lengths},
                                            {"threads", &o.threads},
                                            {"seed", &o.seed}});
}

std::vector<Option> options_of(TokensOptions& o) {
  return declared_options("TokensOptions", {{"full", &o.full},
                                            {"dimension", &o.dimension},
                                            {"grid", &o.grid},
                                            {"replicates", &o.replicates},
                                            {"radii", &o.radii},
                                            {"length", &o.length},
                                            {"threads", &o.threads},
                                            {"seed", &o.seed}});
}

}  // namespace headgauge
