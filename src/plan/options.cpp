// The options of make_plan(), declared once.
#include "headgauge/plan.hpp"

namespace headgauge {

std::vector<Option> options_of(PlanOptions& o) {
  return in_group(
      option_group::searched,
      {{.member = "PlanOptions::memory",
        .value = &o.memory,
        .form = "SHARE",
        .help =
            "Keep at most this share of the key-value cache (default 0.5 of the layers that are "
            "changed, unless --allow is given)",
        .below = 1,
        .none = "none"},
       {.member = "PlanOptions::allow",
        .value = &o.allow,
        .form = "NATS",
        .help =
            "Keep less and less of the cache, as long as the loss is shown to rise by less than "
            "this",
        .none = "none"},
       {.member = "PlanOptions::allow_replay",
        .value = &o.allow_replay,
        .form = "NATS",
        .help = "The same for the loss of replayed tokens (default: as --allow)",
        .none = "none"},
       {.member = "PlanOptions::allow_answers",
        .value = &o.allow_answers,
        .form = "NATS",
        .help = "The same for the loss of the answers of each task (default: as --allow)",
        .none = "none"},
       {.member = "PlanOptions::curve",
        .value = &o.curve,
        .form = "SHARE,SHARE...",
        .help = "Make plans for these shares of the cache too, for the curve of loss against cache "
                "(default {}, of the layers that are changed, as far as the choices reach)",
        .below = 1},
       {.member = "PlanOptions::patterns",
        .value = &o.patterns,
        .form = "NAME[:KEY=VALUE],...",
        .help = "Patterns that may replace full attention in a head (default: 4 sinks and a recent "
                "window, of 1/64 to 3/4 of the context)",
        .details = "See [patterns.md](patterns.md). Patterns that may look at any key again, such "
                   "as `topk`, keep the whole cache",
        .none = "windows",
        .named = "pattern"},
       {.member = "PlanOptions::normalizers",
        .value = &o.normalizers,
        .form = "NAME[:KEY=VALUE],...",
        .help = "Normalizers that a head may get (default: uniform, whose cache is a running mean)",
        .none = "uniform",
        .named = "normalizer"},
       {.member = "PlanOptions::layers",
        .value = &o.layers,
        .form = "LIST",
        .help = "Change only these layers, such as 0-3,5 (default: those without a window of the "
                "model's own)",
        .expects = "layers such as 0-3,5",
        .none = "all"},
       {.member = "PlanOptions::whole_layers",
        .value = &o.whole_layers,
        .form = "true|false",
        .help = "Change all heads of a layer alike, for engines that cannot tell them apart "
                "(default {})"},
       {.member = "PlanOptions::steps",
        .value = &o.steps,
        .form = "N",
        .help = "Steps of the search for each share of the cache; each runs the model forward and "
                "back over a piece of text and a case of one task (default {})",
        .least = 2,
        .most = 10000},
       {.member = "PlanOptions::random_plans",
        .value = &o.random_plans,
        .form = "N",
        .help = "Compare with this many random assignments of the plan to other heads (default {})",
        .least = 0,
        .most = 10000},
       threads_option("PlanOptions", o.threads),
       seed_option("PlanOptions", o.seed)});
}

}  // namespace headgauge
