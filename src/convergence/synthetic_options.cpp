// The options of simulate(), each declared once.
#include "headgauge/synthetic.hpp"

#include <algorithm>
#include <iterator>

namespace headgauge {
namespace {

// The distribution of the tokens, and the matrices applied to them.
std::vector<Option> law(SyntheticOptions& o) {
  return in_group(
      option_group::synthetic,
      {
          {.member = "SyntheticOptions::tokens",
           .value = &o.tokens,
           .form = "gaussian|sphere|atoms",
           .help =
               "Use random tokens instead of a model and a text, and compare attention over them "
               "with its known limit",
           .details =
               "`--grid`, `--points`, `--replicates`, `--normalizer`, `--seed`, `--threads`, "
               "`--out`, `--json` and `--quiet` go with it",
           .named = "synthetic"},
          {.member = "SyntheticOptions::dimension",
           .value = &o.dimension,
           .form = "D",
           .help = "Dimension of the tokens (default {})",
           .details = "At most 1024",
           .least = 1},
          {.member = "SyntheticOptions::variance",
           .value = &o.variance,
           .form = "V",
           .help = "Variance of a coordinate of Gaussian tokens and atoms (default 0.1)"},
          {.member = "SyntheticOptions::radius",
           .value = &o.radius,
           .form = "R",
           .help = "Radius of the sphere; of atoms the distance from 0 in standard deviations "
                   "(default {})"},
          {.member = "SyntheticOptions::values",
           .value = &o.values,
           .form = "identity|random",
           .help = "The matrix V: identity (the default), or random as in the paper's code"},
          seed_option("SyntheticOptions", o.seed),
      });
}

// The options of the simulation itself.
std::vector<Option> simulated(SyntheticOptions& o) {
  return in_group(
      option_group::synthetic,
      {
          {.member = "SyntheticOptions::scales",
           .value = &o.scales,
           .form = "S,S...|FIRST:LAST:COUNT",
           .help = "Scales of queries and keys (default 0.05:50:12, of a sphere 10:1e5:12)",
           .details = "FIRST:LAST:COUNT is a geometric range"},
          {.member = "SyntheticOptions::horizons",
           .value = &o.horizons,
           .form = "H,H...|FIRST:LAST:COUNT",
           .help = "Horizons that the scales must give; they replace --scales"},
          {.member = "SyntheticOptions::grid",
           .value = &o.grid,
           .form = "N,N...|FIRST:LAST:COUNT",
           .group = option_group::drawn,
           .help = "Numbers of tokens (default: --points geometric ones, see --full)"},
          {.member = "SyntheticOptions::points",
           .value = &o.points,
           .form = "P",
           .group = option_group::drawn,
           .help = "Number of points of the default grid (default 8, with --full 12)",
           .least = 1},
          {.member = "SyntheticOptions::replicates",
           .value = &o.replicates,
           .form = "K",
           .group = option_group::drawn,
           .help = "Draws at each number of tokens (default 20, with --full 200)",
           .least = 2},
          {.member = "SyntheticOptions::full",
           .value = &o.full,
           .form = "",
           .help = "Use the paper's numbers of tokens (up to 30000, of a sphere 100000) and 200 "
                   "replicates; with --out an interrupted run resumes",
           .details =
               "The paper's are 1000 to 30000 tokens (a sphere: 10000 to 100000) at 12 points; "
               "the default is 500 to 4000 at 8 points with 20 replicates"},
          normalizer_option("SyntheticOptions", o.normalizer),
          {.member = "SyntheticOptions::reference",
           .value = &o.reference,
           .form = "exact|sample",
           .help = "exact (the default where the limit is known), or sample: one large draw, as in "
                   "the paper's code"},
          {.member = "SyntheticOptions::reference_tokens",
           .value = &o.reference_tokens,
           .form = "N",
           .help =
               "Tokens of that draw (default 100000; 4 times the most of --grid under a normalizer "
               "that is not softmax)",
           .least = 4},
          {.member = "SyntheticOptions::radii",
           .value = &o.radii,
           .form = "R,R...|FIRST:LAST:COUNT",
           .help = "Radii of the balls whose worst query is searched, in standard deviations "
                   "(default {})"},
          threads_option("SyntheticOptions", o.threads),
      });
}

}  // namespace

std::vector<Option> options_of(SyntheticOptions& o) {
  std::vector<Option> all = law(o);
  std::ranges::move(simulated(o), std::back_inserter(all));
  return all;
}

}  // namespace headgauge
