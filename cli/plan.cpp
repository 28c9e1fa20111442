// headgauge plan: searches for the attention that each head needs, on some texts, and checks it on
// others.
#include "headgauge/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "cli/commands.hpp"
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
  return run_measurement(command.run, {.measure = [&](Session& session) {
                           return session.plan(command.request).results;
                         }});
}

}  // namespace

void add_plan(CommandNode& app) {
  const auto o = std::make_shared<PlanCommand>();
  const std::vector<Option> all = options_of(o->request);
  const std::set<std::string> texts = {"confirm", "lengths", "pieces"};
  app.add({.name = "plan",
           .about = "Find a pattern or normalizer for each head, and confirm it on other text",
           .example =
               "Example: headgauge plan demo/model --text a.txt b.txt --confirm c.txt d.txt "
               "--out plan\n"
               "         headgauge plan gpt2 --text a.txt --confirm b.txt --allow 0.01 --out "
               "plan\n"
               "         headgauge scan gpt2 --text c.txt --plan plan/plan.json\n"
               "         headgauge plan llama --plan plan/plan.json --export hf --out plan",
           .operands = {model_operand(o->run.input)},
           .options = join_options(
               {adapted_options("PlanCommand", options_of(o->run.input)), only(all, texts),
                without(without(all, texts), {"export"}), options_of(o->run.output),
                declared_options("PlanCommand", {{"plan", &o->existing}}), only(all, {"export"})}),
           .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
