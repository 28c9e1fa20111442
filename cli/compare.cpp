// headgauge compare: change the normalizer or the pattern of attention, and measure again.
#include "headgauge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/compare_table.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "headgauge/cells.hpp"

namespace headgauge::cli {
namespace {

struct CompareCommand {
  RunOptions run;
  CompareOptions compare;
  std::vector<std::string> fit;
};

std::vector<Option> fit_option(CompareCommand& o) {
  return {{.member = "CompareCommand::fit",
           .value = &o.fit,
           .form = "FILE...",
           .group = option_group::changed,
           .help = "Choose the parameter of each normalizer, head by head, that changes the head's "
                   "output least on this other text (ids, with --tokens)",
           .details = "The normalizers are then measured on the other text; the two must differ. A "
                      "parameter that is given stays, a normalizer without one too, as a "
                      "notice says",
           .expects = "a file"}};
}

// The calibration text must be another one than that of the test.
std::unique_ptr<HeadSource> open_calibration(const CompareCommand& options,
                                             const SourceInfo& tested) {
  if (tested.family == "dump") {
    throw UnsupportedError(fault("--fit", "a model that can read a calibration text",
                                 "a dump, which holds its own queries", "give a checkpoint"));
  }
  InputOptions input = options.run.input;
  (input.texts.empty() ? input.tokens : input.texts) = options.fit;
  if (share_text(input, options.run.input)) {
    throw UsageError(fault("--fit", "another text than the one that is measured", "the same text",
                           "what is fitted on a text must not be judged on it"));
  }
  return open_source(input);
}

Results measure(const CompareCommand& options, HeadSource& source, Progress* progress,
                const std::stop_token& stop) {
  auto interventions = make_interventions(options.compare, source.info());
  if (!options.fit.empty()) {
    const auto calibration = open_calibration(options, source.info());
    fit_interventions(*calibration, options.compare, interventions, progress, stop);
  }
  return compare(source, options.compare, interventions, progress, stop);
}

int run(CompareCommand& options) {
  options.run.input.take(options.compare.scan);
  options.run.input.asked_by = "compare";
  const bool patterns = !options.compare.patterns.empty();
  if (options.compare.normalizers.empty() && !patterns) {
    throw UsageError(fault("compare", "normalizers or patterns to compare",
                           "neither --normalizers nor --pattern",
                           "add --normalizers ssmax,sparsemax or --pattern window:size=128"));
  }
  if (!options.fit.empty() && patterns) {
    throw UsageError(
        fault("--fit", "--normalizers", "--pattern", "only parameters of normalizers are fitted"));
  }
  RunSteps steps;
  steps.measure = [&](HeadSource& source, Progress* progress, std::stop_token stop) {
    return measure(options, source, progress, stop);
  };
  steps.complete = [&](Results& results) { write_settings(fit_option(options), results.settings); };
  steps.table = render_comparison;
  steps.finished = [](const Results& results) -> std::string {
    const Index interventions = results.coord_size(intervention_dimension(results)) - 1;
    if (interventions == 0) return "";
    return fmt::format("{} {} finished", interventions,
                       interventions == 1 ? "intervention was" : "interventions were");
  };
  return run_measurement(options.run, steps);
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "compare", "Change the normalizer or pattern of attention, and measure again");
  auto options = std::make_shared<CompareCommand>();
  const std::vector<Option> all = options_of(options->compare);
  const std::vector<std::string> first = {"normalizers", "pattern", "each"};
  add_options(*command, only(all, first));
  add_options(*command, fit_option(*options));
  add_options(*command, only(all, {"layers", "heads"}));
  options->run.input.add_to(*command);
  add_options(*command, without(without(all, first), {"layers", "heads"}));
  add_options(*command, options_of(options->run.output));
  command->footer(
      "Example: headgauge compare demo/model --text demo/text.txt --normalizers ssmax,sparsemax\n"
      "         headgauge compare gpt2 --text book.txt --each head --normalizers softmax1,ssmax\n"
      "         headgauge compare gpt2 --text book.txt --pattern sinks:window=256");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
