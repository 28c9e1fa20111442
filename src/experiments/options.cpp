// The options of compare(), converge() and validate(), each declared once.
#include "headgauge/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/validate.hpp"

namespace headgauge {

std::vector<Option> options_of(CompareOptions& o) {
  std::vector<Option> own = in_group(
      option_group::changed,
      {{.member = "CompareOptions::normalizers",
        .value = &o.normalizers,
        .form = "NAME[:KEY=VALUE],...",
        .help =
            "The normalizers to compare with the model's own, such as "
            "ssmax:s=0.43,b=0,sparsemax; may be repeated; headgauge list normalizers lists them",
        .details =
            "[normalizers.md](normalizers.md). A comma before `key=` continues the normalizer "
            "before it; any other comma begins the next: `ssmax:s=0.43,b=0,sparsemax` is two",
        .expects = "the name of a normalizer",
        .named = "normalizer"},
       {.member = "CompareOptions::patterns",
        .value = &o.patterns,
        .form = "NAME[:KEY=VALUE],...",
        .help = "The patterns of keys to compare with the model's own, instead of normalizers; may "
                "be repeated; headgauge list patterns lists them",
        .details = "[patterns.md](patterns.md). Adds `kept_mass`, `entropy_deficit` and "
                   "`queries_losing_keys`",
        .expects = "the name of a pattern",
        .none = "none",
        .named = "pattern",
        .excludes = "normalizer"},
       {.member = "CompareOptions::each",
        .value = choice(o.each, {"none", "layer", "head"}),
        .form = "head|layer",
        .help = "Change one head (or one layer) at a time, instead of all at once",
        .details = "`loss`, `loss_change` and `kl` are then those of the model with that one "
                   "changed. The metrics of a head are those under its change; metrics of several "
                   "heads together are left out"}});
  for (Option& option : options_of(o.scan)) {
    const std::string name = option.name();
    if (name == "normalizer" || name == "pattern") continue;
    if (name == "examples") {
      option.help = fmt::format(
          "Keep the K tokens whose loss each change alters most, with their text (default: {}, if "
          "there are at most {} texts)",
          kUsualTokenLosses, kDocumentsWithExamples);
      option.details =
          "The report shows them. results.json and the page then hold the text around them: `none` "
          "keeps it out. A K of all tokens writes every loss. See "
          "[examples.md](examples.md#tokens-that-a-change-costs-most)";
      option.most = 1e9;
      option.excludes = "each";
    }
    if (name == "layers" || name == "heads") {
      option.group = option_group::changed;
      option.help = name == "layers" ? "Change only in these layers, such as 0-3,5"
                                     : "Change only these heads, as layer.head: 3.5,7.*";
      option.details =
          name == "layers"
              ? "A model whose layers have windows in part is changed only in the others, unless "
                "layers, heads or plans are named"
              : "All heads are measured, because those of later layers change too; the layers "
                "before the first changed one are neither run nor measured again";
    }
    own.push_back(std::move(option));
  }
  return own;
}

std::vector<Option> options_of(ConvergeOptions& o) {
  std::vector<Option> scan = options_of(o.scan);
  std::erase_if(scan, [](const Option& option) {
    return option.name() == "pattern" || option.name() == "examples";
  });
  find_option(scan, "measures").help =
      "Groups of metrics: {groups} (default: weights, distance, separability, dispersion)";
  find_option(scan, "normalizer").details =
      "Errors, rates and budgets are those under it, on the model's own queries, keys and values";
  find_option(scan, "queries").details += ". Budgets look at the same rows";
  std::vector<Option> own = in_group(
      option_group::drawn,
      {{.member = "ConvergeOptions::grid",
        .value = &o.grid,
        .form = "N,N...|FIRST:LAST:COUNT",
        .help = "Numbers of tokens that are drawn, such as 64,128,256, or geometric ones "
                "(default: --points geometric ones from L/8 to 3L/4, L the longest length)",
        .details = "Ascending, and at most the context. With fewer than 4 that can be used "
                   "there is no rate"},
       {.member = "ConvergeOptions::points",
        .value = &o.points,
        .form = "P",
        .help = "Number of points of the default grid (default {})",
        .least = 1,
        .excludes = "grid"},
       {.member = "ConvergeOptions::replicates",
        .value = &o.replicates,
        .form = "K",
        .help = "Subsamples at each number of tokens (default {})",
        .least = 2},
       {.member = "ConvergeOptions::draws",
        .value = &o.draws,
        .form = "K",
        .help = "Random sets of keys for the budget of uniform keys (default {})",
        .least = 1},
       {.member = "ConvergeOptions::tolerances",
        .value = &o.tolerances,
        .form = "T,T...",
        .help = "Relative errors of the output that a key budget allows; 0.05 is always among "
                "them (default {})",
        .details = "Caches are about 0.05"}});
  std::ranges::move(own, std::back_inserter(scan));
  return scan;
}

std::vector<Option> options_of(ValidateOptions& o) {
  std::vector<Option> all = in_group(
      option_group::drawn,
      {{.member = "ValidateOptions::patterns",
        .value = &o.patterns,
        .form = "NAME[:KEY=VALUE],...",
        .group = option_group::changed,
        .help = "The patterns of keys that are tried in one head at a time (default {}); none: no "
                "pattern",
        .details = "[patterns.md](patterns.md)",
        .expects = "the name of a pattern",
        .none = "none",
        .named = "pattern"},
       {.member = "ValidateOptions::normalizers",
        .value = &o.normalizers,
        .form = "NAME[:KEY=VALUE],...",
        .group = option_group::changed,
        .help = "The normalizers that are tried in one head at a time (default {}); none: no "
                "normalizer",
        .details = "[normalizers.md](normalizers.md). `uniform` replaces the head's output by the "
                   "mean over the keys",
        .expects = "the name of a normalizer",
        .none = "none",
        .named = "normalizer"},
       {.member = "ValidateOptions::permutations",
        .value = &o.permutations,
        .form = "K",
        .help = "Permutations of the heads within their layers behind a p-value (default {})",
        .least = 99},
       {.member = "ValidateOptions::resamples",
        .value = &o.resamples,
        .form = "K",
        .help = "Resamples of the heads behind an interval (default {})",
        .least = 99},
       {.member = "ValidateOptions::level",
        .value = &o.level,
        .form = "Q",
        .help = "Level of the false discovery rate among all correlations (default {})",
        .below = 1}});
  for (Option& option : options_of(o.scan)) {
    const std::string name = option.name();
    if (name != "normalizer" && name != "pattern" && name != "examples")
      all.push_back(std::move(option));
  }
  return all;
}

}  // namespace headgauge
