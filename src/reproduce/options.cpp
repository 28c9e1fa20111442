// The options of both reproductions, each declared once.
#include "headgauge/reproduce.hpp"

namespace headgauge {

std::vector<Option> options_of(LimitsOptions& o) {
  ScanOptions scan;
  std::vector<Option> known = options_of(scan);
  const auto as_in_scan = [&](const char* name, OptionValue value) {
    Option option = find_option(known, name);
    option.member = "LimitsOptions::" + option.key();
    option.value = value;
    return option;
  };
  return {as_in_scan("x", choice(o.x, {"embedding", "hidden", "value"})),
          as_in_scan("lengths", &o.lengths), threads_option("LimitsOptions", o.threads),
          seed_option("LimitsOptions", o.seed)};
}

std::vector<Option> options_of(TokensOptions& o) {
  SyntheticOptions simulated;
  std::vector<Option> known = options_of(simulated);
  Option radii = find_option(known, "radii");
  radii.member = "TokensOptions::radii";
  radii.value = &o.radii;
  radii.group = option_group::drawn;
  return in_group(
      option_group::drawn,
      {
          {.member = "TokensOptions::full",
           .value = &o.full,
           .form = "",
           .help =
               "Use the paper's numbers of random tokens (up to 30000, on the sphere 100000) and "
               "200 replicates; takes hours; an interrupted run resumes",
           .details = "See [synthetic.md](synthetic.md#the-papers-setting)"},
          {.member = "TokensOptions::dimension",
           .value = &o.dimension,
           .form = "D",
           .help = "Dimension of random tokens (default {})",
           .least = 1},
          {.member = "TokensOptions::grid",
           .value = &o.grid,
           .form = "N,N...",
           .help =
               "Numbers of random tokens, such as 500,1000,2000,4000 (default 8 from 500 to 4000)",
           .expects = "numbers of tokens"},
          {.member = "TokensOptions::replicates",
           .value = &o.replicates,
           .form = "K",
           .help = "Replicates of every experiment (default 20, with --full 200; on a model 500)",
           .least = 2},
          radii,
          {.member = "TokensOptions::length",
           .value = &o.length,
           .form = "L",
           .group = option_group::measured,
           .help = "Context of the model (default 512, the paper's, as far as model and text go)",
           .details = "At least 64",
           .least = 1,
           .named = "lengths"},
          threads_option("TokensOptions", o.threads),
          seed_option("TokensOptions", o.seed),
      });
}

}  // namespace headgauge
