// headgauge plan: searches for the attention that each head needs, on some texts, and checks it on
// others.
#include "headgauge/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/print.hpp"
#include "cli/run.hpp"
#include "cli/stop.hpp"
#include "cli/tables.hpp"
#include "cli/terminal.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

struct PlanCommand {
  RunOptions run;
  PlanRequest request;
  std::string existing;  // --plan
};

Option existing_option(PlanCommand& o) {
  return {.member = "PlanCommand::plan",
          .value = &o.existing,
          .form = "FILE",
          .group = option_group::output,
          .help = "Export this plan, which headgauge plan wrote, without a search",
          .expects = "a file",
          .none = "none"};
}

std::vector<Option> texts_of(PlanCommand& o) {
  std::vector<Option> options = options_of(o.run.input);
  find_option(options, "text").help = "UTF-8 texts on which the plan is searched";
  find_option(options, "text").details =
      "Some pieces take no part in the search: they serve to choose among the plans found";
  return options;
}

int export_existing(const PlanCommand& command) {
  const OutputOptions& output = command.run.output;
  const auto& formats = command.request.formats;
  if (!command.run.input.files().empty() || !command.request.confirm.empty()) {
    throw UsageError(fault("--plan", "a plan and no texts", "--text, --tokens or --confirm too",
                           "leave them out, or --plan to search for another plan"));
  }
  if (formats.empty()) {
    throw UsageError(fault("--plan", "--export too", "none",
                           fmt::format("add --export, of {}", plan_format_names())));
  }
  if (output.out.empty()) {
    throw UsageError(fault("--export", "a folder to write to", "no --out", "add --out DIR"));
  }
  if (output.json) {
    throw UsageError(fault("--json", "a search, which has results", "--plan, which has none",
                           "leave one of the two out"));
  }
  const StopOnSignal signal(takes_escapes(STDERR_FILENO) && !output.quiet);
  const PlanExport done = export_plan(Model(command.run.input.model), command.existing, formats,
                                      output.out, signal.token());
  print_text(fmt::format("Written: {}\n", legible(fmt::format("{}", fmt::join(done.files, ", ")))));
  flush_text();
  if (!output.quiet) print_notices(done.notices);
  return 0;
}

int run(PlanCommand& command) {
  if (!command.existing.empty()) return export_existing(command);
  const bool has_texts = !command.run.input.files().empty() && !command.request.confirm.empty();
  if (has_texts && command.run.output.out.empty()) {
    throw UsageError(fault("plan", "a folder to keep the plan in", "no --out", "add --out DIR"));
  }
  command.run.input.set_kind(command.request.confirm);
  RunSteps steps;
  steps.measure = [&](Session& session) { return session.plan(command.request).results; };
  steps.table = render_tables;
  return run_measurement(command.run, steps);
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "plan", "Find a pattern or normalizer for each head, and confirm it on other text");
  auto options = std::make_shared<PlanCommand>();
  options->run.input.add_model(*command);
  const std::vector<Option> all = options_of(options->request);
  const std::vector<std::string> texts = {"confirm", "lengths", "pieces"};
  add_options(*command, texts_of(*options));
  add_options(*command, only(all, texts));
  add_options(*command, without(without(all, texts), {"export"}));
  add_options(*command, options_of(options->run.output));
  add_options(*command, {existing_option(*options)});
  add_options(*command, only(all, {"export"}));
  command->footer(
      "Example: headgauge plan demo/model --text a.txt b.txt --confirm c.txt d.txt --out plan\n"
      "         headgauge plan gpt2 --text a.txt --confirm b.txt --allow 0.01 --out plan\n"
      "         headgauge scan gpt2 --text c.txt --plan plan/plan.json\n"
      "         headgauge plan llama --plan plan/plan.json --export hf --out plan");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
