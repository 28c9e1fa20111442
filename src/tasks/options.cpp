// The options of make_task_cases(), each declared once.
#include "headgauge/generators.hpp"

namespace headgauge {

std::vector<Option> options_of(TaskOptions& o) {
  return in_group(
      option_group::drawn,
      {
          {.member = "TaskOptions::length",
           .value = &o.length,
           .form = "L",
           .help = "Tokens of each prompt with its answer (default {})",
           .least = 2},
          {.member = "TaskOptions::cases",
           .value = &o.cases,
           .form = "K",
           .help = "Number of cases (default {})",
           .details =
               "The distances from the answer to its source are spread evenly over the context",
           .least = 1},
          {.member = "TaskOptions::text",
           .value = &o.text,
           .form = "FILE...",
           .help = "UTF-8 texts that facts and passages are hidden in (default: short neutral "
                   "sentences)",
           .details =
               "Each case gets another piece of a text, and several texts take turns. Of each "
               "text the first 2^20 tokens are used",
           .expects = "a file",
           .none = "sentences",
           .names_files = true},
          {.member = "TaskOptions::items",
           .value = &o.items,
           .form = "N",
           .help = "Number of keys in a case of `keys` (default 4)",
           .least = 1,
           .most = 32,
           .none = "auto"},
          seed_option("TaskOptions", o.seed),
      });
}

}  // namespace headgauge
