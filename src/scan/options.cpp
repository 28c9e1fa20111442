// The options of scan(), each declared once.
#include "headgauge/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "headgauge/scan.hpp"

namespace headgauge {
namespace {

// The selection of heads and lengths.
std::vector<Option> scope(ScanOptions& o) {
  return in_group(
      option_group::measured,
      {{.member = "ScanOptions::x",
        .value = choice(o.x, {"embedding", "hidden", "value"}),
        .form = "embedding|hidden|value",
        .group = option_group::input,
        .help = "Vectors that distances are taken between: token embeddings (the default), hidden "
                "states that enter the layer, or values of the head"},
       {.member = "ScanOptions::lengths",
        .value = &o.lengths,
        .form = "L,L...|auto",
        .help = "Context lengths such as 32,64,128; auto, the default, doubles from 32 to 1024 as "
                "far as they fit",
        .details =
            "`auto` is limited by the text and by the model (with rotary positions: its "
            "trained context), and adds the text's own length if that is below 1024. You may "
            "give lengths beyond the trained context if positions are unlimited; a notice "
            "says so. Each of several texts must reach the longest given length; with `auto` "
            "a shorter text is measured up to its own length, as a notice says. A "
            "bidirectional model (BERT) is run once for each length ([models.md](models.md))",
        .none = "auto"},
       {.member = "ScanOptions::layers",
        .value = &o.layers,
        .form = "LIST",
        .help = "Measure only these layers, such as 0-3,5",
        .details = "Weights of layers after the last of them are then neither read nor checked for "
                   "NaN, unless the loss is measured, which needs all",
        .expects = "layers such as 0-3,5",
        .none = "all"},
       {.member = "ScanOptions::heads",
        .value = &o.heads,
        .form = "LIST",
        .help = "Measure only these heads, as layer.head: 3.5,7.*",
        .expects = "heads such as 3.5,7.*",
        .none = "all"}});
}

std::vector<Option> measured(ScanOptions& o) {
  return in_group(
      option_group::measured,
      {
          {.member = "MeasureOptions::top_n",
           .value = &o.measure.top_n,
           .form = "N,N...",
           .help = "Sizes of the selected sets (default {})",
           .details =
               "A set omits at least one key: sizes from the longest length on are null, as a "
               "notice says"},
          {.member = "MeasureOptions::beyond_sinks",
           .value = &o.measure.beyond_sinks,
           .form = "true|false",
           .help = "Measure distance, separability, coverage, proportion and dispersion as if the "
                   "sinks of each head were hidden (default {})",
           .details =
               "The heaviest keys of a head that rests on sinks are its sinks; the keys beyond "
               "them are what it selects. Sinks are found in each head; see "
               "[roles.md](roles.md#sinks). The other groups have values of both kinds"},
          {.member = "MeasureOptions::top_share",
           .value = &o.measure.top_share,
           .form = "S,S...",
           .help = "Shares of the keys, such as 0.01,0.1, for the group `proportion` (default: "
                   "none, and no such group)",
           .below = 1},
          {.member = "ScanOptions::measures",
           .value = &o.measures,
           .form = "GROUP,GROUP...",
           .help = "Groups of metrics: {groups} (default: all that apply)",
           .details = "`counterfactual` needs `--pattern` or `--normalizer`"},
          {.member = "ScanOptions::queries",
           .value = &o.queries,
           .form = "K|all",
           .help = "Rows measured in each position bin (default: all up to length 8192, else 64)",
           .details = "They are drawn evenly. The model itself always runs over all rows",
           .least = 1,
           .none = "all"},
          {.member = "ScanOptions::examples",
           .value = &o.examples,
           .form = "K|none",
           .help =
               fmt::format("Keep K characteristic queries of each head with the keys that they "
                           "select, and their text (default: {}, if there are at most {} texts)",
                           kUsualExamples, kDocumentsWithExamples),
           .details =
               "The head's page of the report shows them. results.json and the page then hold "
               "most of the text: `none` keeps it out. See [examples.md](examples.md)",
           .least = 1,
           .most = 1000,
           .none = "none"},
          normalizer_option("ScanOptions", o.normalizer),
          {.member = "ScanOptions::pattern",
           .value = &o.pattern,
           .form = "NAME[:KEY=VALUE]",
           .help =
               "Keep only some keys of each query (default {}); headgauge list patterns lists the "
               "patterns",
           .details = "The others are removed before the normalizer sees the row; `kept_mass` and "
                      "`output_change` say what that costs. See [patterns.md](patterns.md)"},
      });
}

std::vector<Option> sensitivity(MeasureOptions& o) {
  return in_group(option_group::sensitivity,
                  {{.member = "MeasureOptions::temperatures",
                    .value = &o.temperatures,
                    .form = "T,T...",
                    .help = "Temperatures (default: 31 from 0.01 to 10)",
                    .details = "The default's are even in the logarithm"},
                   {.member = "MeasureOptions::epsilons",
                    .value = &o.epsilons,
                    .form = "E,E...",
                    .help = "Sizes of the step of the logits (default {})"}});
}

std::vector<Option> distances(MeasureOptions& o) {
  return in_group(
      option_group::critical,
      {
          {.member = "MeasureOptions::critical_max",
           .value = &o.critical_max,
           .form = "N",
           .help = "Largest N searched for critical N (default {})",
           .least = 1},
          {.member = "MeasureOptions::critical_level",
           .value = &o.critical_level,
           .form = "P",
           .help = "Level of the tests for critical N (default {})",
           .below = 1},
          {.member = "MeasureOptions::unit_sphere",
           .value = &o.unit_sphere,
           .form = "true|false",
           .help =
               "Separability on vectors scaled to length 1, as the theorem assumes (default {})"},
      });
}

std::vector<Option> running(ScanOptions& o) {
  return {threads_option("ScanOptions", o.threads), seed_option("ScanOptions", o.seed)};
}

template <class... Lists>
std::vector<Option> joined(std::vector<Option> first, Lists... rest) {
  (std::ranges::move(rest, std::back_inserter(first)), ...);
  return first;
}

}  // namespace

std::vector<Option> options_of(ScanOptions& o) {
  return joined(scope(o), measured(o), sensitivity(o.measure), distances(o.measure), running(o));
}

}  // namespace headgauge
