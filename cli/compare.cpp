// headgauge compare: intervention the rule or the pattern of attention, and measure everything
// again.
#include "headgauge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/compare_table.hpp"
#include "cli/run.hpp"
#include "cli/usage.hpp"
#include "headgauge/cells.hpp"

namespace headgauge::cli {
namespace {

struct CompareCommand {
  RunOptions run;
  std::vector<std::string> normalizers;
  std::vector<std::string> patterns;
  std::string each;
  std::vector<std::string> fit;
};

constexpr const char* kChanged = "What is changed";

void add_own(CLI::App& command, CompareCommand& options) {
  auto* normalizers =
      command
          .add_option("--normalizers", options.normalizers,
                      "The rules to set against the model's own, such as\n"
                      "ssmax:s=0.43,b=0,sparsemax; may be repeated; headgauge normalizers\n"
                      "lists them")
          ->option_text("NAME[:KEY=VALUE],...")
          ->check(some_text("the name of a rule"))
          ->group(kChanged);
  command
      .add_option("--pattern", options.patterns,
                  "In place of rules: the patterns of keys to set against the model's own;\n"
                  "may be repeated; headgauge patterns lists them")
      ->option_text("NAME[:KEY=VALUE],...")
      ->check(some_text("the name of a pattern"))
      ->excludes(normalizers)
      ->group(kChanged);
  command
      .add_option("--each", options.each,
                  "HeadIntervention one head (or one layer) at a time, in place of all at once")
      ->option_text("head|layer")
      ->check(one_of({"head", "layer"}))
      ->group(kChanged);
  command
      .add_option("--fit", options.fit,
                  "Choose the parameter of each rule, head by head, that changes the\n"
                  "head's output least on this other text (ids, with --tokens)")
      ->option_text("FILE...")
      ->check(some_text("a file"))
      ->group(kChanged);
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
  CompareOptions compared;
  compared.scan = options.run.scan;
  if (!options.each.empty()) compared.each = options.each == "head" ? Each::head : Each::layer;
  if (!options.patterns.empty()) compared.dimension = "pattern";
  const auto specs = split_rules(options.patterns.empty() ? options.normalizers : options.patterns);
  std::vector<Intervention> interventions = make_interventions(specs, source.info(), compared);
  if (!options.fit.empty()) {
    const auto calibration = open_calibration(options, source.info());
    fit_interventions(*calibration, compared, interventions, progress, stop);
  }
  return compare(source, compared, interventions, progress, stop);
}

int run(CompareCommand& options) {
  options.run.resolve();
  options.run.input.asked_by = "compare";
  if (options.normalizers.empty() && options.patterns.empty()) {
    throw UsageError(fault("compare", "rules or patterns to compare",
                           "neither --normalizers nor --pattern",
                           "add --normalizers ssmax,sparsemax or --pattern window:size=128"));
  }
  if (!options.fit.empty() && !options.patterns.empty()) {
    throw UsageError(
        fault("--fit", "--normalizers", "--pattern", "only the parameters of rules are fitted"));
  }
  RunSteps steps;
  steps.measure = [&](HeadSource& source, Progress* progress, std::stop_token stop) {
    return measure(options, source, progress, stop);
  };
  steps.complete = [&](Results& results) {
    auto& settings = results.settings;
    settings.erase("normalizer");
    settings["normalizers"] = split_rules(options.normalizers);
    settings.erase("pattern");
    settings["pattern"] = "none";
    if (!options.patterns.empty()) settings["pattern"] = split_rules(options.patterns);
    settings["each"] = options.each.empty() ? "none" : options.each;
    settings["fit"] = options.fit;
  };
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
      "compare", "HeadIntervention the rule or pattern of attention, and measure again");
  auto options = std::make_shared<CompareCommand>();
  add_own(*command, *options);
  options->run.add_selection_to(*command, "HeadIntervention only in these layers, such as 0-3,5",
                                "HeadIntervention only these heads, as layer.head: 3.5,7.*",
                                kChanged);
  options->run.input.add_to(*command);
  options->run.add_to(*command);
  command->footer(
      "Example: headgauge compare demo/model --text demo/text.txt --normalizers ssmax,sparsemax\n"
      "         headgauge compare gpt2 --text book.txt --each head --normalizers softmax1,ssmax\n"
      "         headgauge compare gpt2 --text book.txt --pattern sinks:window=256");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
