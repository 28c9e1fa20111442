// headgauge compare: change the normalizer or the pattern of attention, and measure again.
#include "headgauge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.hpp"
#include "cli/compare_table.hpp"
#include "cli/options.hpp"
#include "cli/planned.hpp"
#include "cli/run.hpp"
#include "cli/run_journal.hpp"
#include "headgauge/cells.hpp"

namespace headgauge::cli {
namespace {

struct CompareCommand {
  RunOptions run;
  CompareOptions compare;
  std::vector<std::string> plans, fit, confirm;
  std::vector<AttentionPlan> read;  // of the plans
};

Option plans_option(CompareCommand& o) {
  return {.member = "CompareCommand::plans",
          .value = &o.plans,
          .form = "FILE...",
          .group = option_group::compared,
          .help = "Plans to set against the model as it is, which headgauge plan wrote",
          .details =
              "Beside patterns or normalizers, or alone; of its heads those that `--layers` and "
              "`--heads` choose. See [plan.md](plan.md); a plan for another model is refused",
          .expects = "a file",
          .named = "plan"};
}

std::vector<Option> other_texts(CompareCommand& o) {
  return {{.member = "CompareCommand::fit",
           .value = &o.fit,
           .form = "FILE...",
           .group = option_group::changed,
           .help = "Choose the parameter of each normalizer, head by head, that changes the head's "
                   "output least on this other text (ids, with --tokens)",
           .details = "The normalizers are then measured on the other text; the two must differ. A "
                      "parameter that is given stays, a normalizer without one too, as a "
                      "notice says",
           .expects = "a file"},
          {.member = "CompareCommand::confirm",
           .value = &o.confirm,
           .form = "FILE...",
           .group = option_group::changed,
           .help = "Try what lowers the loss on this other text (ids, with --tokens), each by "
                   "itself and all together; only what lowers it there too is recommended",
           .details = "It must differ from the text that is measured and from that of `--fit`",
           .expects = "a file"}};
}

// Opens the text of `option`, another one than those it must not share anything with.
std::unique_ptr<HeadSource> open_other(const CompareCommand& options, const std::string& option,
                                       const std::vector<std::string>& files,
                                       const SourceInfo& measured) {
  if (measured.family == "dump") {
    throw UnsupportedError(fault(option, "a model that can read another text",
                                 "a dump, which holds its own queries", "give a checkpoint"));
  }
  const InputOptions input = with_files(options.run.input, files);
  const auto refuse = [&](const char* other) {
    throw UsageError(fault(option, fmt::format("another text than {}", other), "the same text",
                           "what is chosen on a text must not be judged on it"));
  };
  const std::vector<Document> documents = load_documents(input);
  const auto shares = [&](const InputOptions& other) {
    return share_tokens(documents, load_documents(other));
  };
  if (shares(options.run.input)) refuse("the one that is measured");
  if (option != "--fit" && !options.fit.empty() &&
      shares(with_files(options.run.input, options.fit))) {
    refuse("that of --fit");
  }
  return open_source(input);
}

Results measure(CompareCommand& options, HeadSource& source, Progress* progress,
                const std::stop_token& stop) {
  auto interventions = make_interventions(options.compare, source.info());
  for (const std::string& file : options.plans) {
    const AttentionPlan& plan = options.read.emplace_back(read_plan(file));
    interventions.push_back(make_intervention(plan, options.compare, source, file));
  }
  std::unique_ptr<HeadSource> unseen;
  if (!options.confirm.empty()) {
    unseen = open_other(options, "--confirm", options.confirm, source.info());
    if (!source.info().has_loss) {
      throw UnsupportedError(fault("--confirm", "a model with a loss", source.info().family,
                                   "without a loss nothing is recommended"));
    }
  }
  if (!options.fit.empty()) {
    const auto calibration = open_other(options, "--fit", options.fit, source.info());
    fit_interventions(*calibration, options.compare, interventions, progress, stop);
  }
  Results results = compare(source, options.compare, interventions, progress, stop);
  if (unseen != nullptr) {
    confirm_gains(*unseen, options.compare, interventions, results, progress, stop);
  }
  return results;
}

int run(CompareCommand& options) {
  options.run.input.take(options.compare.scan);
  options.run.input.asked_by = "compare";
  options.run.input.read_again = !options.fit.empty() || !options.confirm.empty();
  const bool patterns = !options.compare.patterns.empty();
  if (options.compare.normalizers.empty() && !patterns && options.plans.empty()) {
    throw UsageError(fault("compare", "normalizers, patterns or plans to compare",
                           "no --normalizer, no --pattern and no --plan",
                           "add --normalizer ssmax,sparsemax or --pattern window:size=128"));
  }
  if (!options.fit.empty() && patterns) {
    throw UsageError(
        fault("--fit", "--normalizer", "--pattern", "only parameters of normalizers are fitted"));
  }
  RunSteps steps;
  steps.journaled = &options.compare.scan;
  steps.measure = [&](HeadSource& source, Progress* progress, std::stop_token stop) {
    return measure(options, source, progress, stop);
  };
  steps.complete = [&](Results& results) {
    write_settings(other_texts(options), results.settings);
    write_settings({plans_option(options)}, results.settings);
    for (std::size_t i = 0; i < options.read.size(); ++i) {
      results.settings["plan_sha256"].push_back(options.read[i].sha256);
      const std::string notice = context_notice(options.read[i], options.plans[i], results);
      if (!notice.empty()) results.notices.push_back(notice);
    }
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
      "compare", "Change the normalizer or pattern of attention, and measure again");
  auto options = std::make_shared<CompareCommand>();
  const std::vector<Option> all = options_of(options->compare);
  const std::vector<std::string> first = {"normalizer", "pattern", "each"};
  add_options(*command, only(all, first));
  add_options(*command, {plans_option(*options)});
  add_options(*command, other_texts(*options));
  add_options(*command, only(all, {"layers", "heads"}));
  options->run.input.add_to(*command);
  add_options(*command, without(without(all, first), {"layers", "heads"}));
  add_options(*command, options_of(options->run.output));
  add_options(*command, {shard_option(options->run.shard)});
  command->footer(
      "Example: headgauge compare demo/model --text demo/text.txt --normalizer ssmax,sparsemax\n"
      "         headgauge compare gpt2 --text book.txt --each head --normalizer softmax1,ssmax\n"
      "         headgauge compare gpt2 --text book.txt --pattern sinks:window=256");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
