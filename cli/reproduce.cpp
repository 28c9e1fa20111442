// headgauge reproduce: reproduces the figures and claims of the two papers for a model.
#include "headgauge/reproduce.hpp"

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/tables.hpp"

namespace headgauge::cli {
namespace {

struct LimitsCommand {
  RunOptions run;
  LimitsRequest request;
  std::string results;  // a finished scan, used instead of a model
};

Option results_option(LimitsCommand& o) {
  return {.member = "LimitsCommand::results",
          .value = &o.results,
          .form = "FILE",
          .group = option_group::input,
          .help = "Judge a finished scan instead of running a model: a results.json, or its folder",
          .details = "A claim that lacks values says what to give to `scan`",
          .expects = "a file or folder"};
}

int run_limits(const CLI::App& command, LimitsCommand& options) {
  RunSteps steps;
  steps.table = render_claims;
  steps.measure = [&](Session& session) { return session.reproduce(options.request); };
  if (options.results.empty()) return run_measurement(options.run, steps);
  // Claims on a finished scan need no model.
  for (const CLI::Option* given : command.get_options()) {
    const Option* own = declaration(command, *given);
    const bool fits =
        own == nullptr || own->name() == "results" || own->group == option_group::output;
    if (given->count() == 0 || (fits && given->get_name() != "MODEL")) continue;
    throw UsageError(fault(given->get_name(), "only --results and where to write", "a scan to run",
                           "leave --results out, or the rest"));
  }
  steps.measure = [&](Session& session) { return session.judge_limits(options.results); };
  return run_measurement(options.run, steps);
}

void add_limits(CLI::App& parent, Action& action) {
  auto* command = parent.add_subcommand(
      "limits", "Judge paper A: distances, critical N, separability, sensitivity");
  command->alias("A");
  auto options = std::make_shared<LimitsCommand>();
  options->run.output.out = "reproduce-limits";
  options->run.input.add_to(*command);
  command->get_option("MODEL")->required(false);
  add_options(*command, {results_option(*options)});
  add_options(*command, options_of(options->request));
  add_options(*command, options_of(options->run.output,
                                   "Folder for results.json, heads.csv, report.html and figures/ "
                                   "(default {})"));
  command->footer(
      "Example: headgauge reproduce limits demo/model --text demo/text.txt\n"
      "         headgauge reproduce limits gpt2 --text book.txt --out gpt2-limits\n"
      "         headgauge reproduce limits --results gpt2-scan --out gpt2-limits");
  command->callback([=, &action] {
    const bool has_model = command->get_option("MODEL")->count() > 0;
    if (!has_model && options->results.empty()) throw CLI::RequiredError("MODEL");
    action = [=] { return run_limits(*command, *options); };
  });
}

struct TokensCommand {
  RunOptions run;
  TokensRequest request;
};

int run_tokens(const CLI::App& command, TokensCommand& options) {
  const bool has_model = command.get_option("MODEL")->count() > 0;
  for (const char* option : {"--text", "--tokens", "--lengths"}) {
    if (has_model || command.get_option(option)->count() == 0) continue;
    throw UsageError(fault(option, "a MODEL", "none", "name the model, or leave the option out"));
  }
  RunSteps steps;
  steps.measure = [&](Session& session) { return session.reproduce(options.request); };
  steps.table = render_claims;
  return run_measurement(options.run, steps);
}

void add_tokens(CLI::App& parent, Action& action) {
  auto* command = parent.add_subcommand(
      "tokens", "Judge paper B: convergence on Gaussian tokens, on a sphere and in a model");
  command->alias("B");
  auto options = std::make_shared<TokensCommand>();
  options->run.output.out = "reproduce-tokens";
  options->run.input.add_to(*command);
  command->get_option("MODEL")->required(false);
  add_options(*command, options_of(options->request));
  add_options(*command, options_of(options->run.output,
                                   "Folder for results.json, report.html, figures/, and for "
                                   "the experiments gaussian/, sphere/, model/, all_heads/ and "
                                   "each_head/ (default {})"));
  command->footer(
      "Example: headgauge reproduce tokens demo/model --text demo/text.txt\n"
      "         headgauge reproduce tokens gpt2 --text book.txt --full --out gpt2-tokens");
  command->callback([=, &action] { action = [=] { return run_tokens(*command, *options); }; });
}

}  // namespace

void add_reproduce(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("reproduce", "Make the figures and judge the claims of the two papers");
  command->require_subcommand(1);
  command->footer(
      "Example: headgauge reproduce limits demo/model --text demo/text.txt\n"
      "Each command has its own --help.");
  add_limits(*command, action);
  add_tokens(*command, action);
}

}  // namespace headgauge::cli
