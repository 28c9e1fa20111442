// headgauge reproduce: reproduces the figures and claims of the two papers for a model.
#include "headgauge/reproduce.hpp"

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/run.hpp"

namespace headgauge::cli {
namespace {

struct LimitsCommand {
  RunOptions run;
  LimitsRequest request;
  std::string results;  // a finished scan, used instead of a model
};

int run_limits(const CommandNode& command, LimitsCommand& options) {
  if (options.results.empty()) {
    return run_measurement(options.run, {.measure = [&](Session& session) {
                             return session.reproduce(options.request);
                           }});
  }
  // Claims on a finished scan need no model.
  std::string other = command.has("MODEL") ? "MODEL" : "";
  for (const Option& option : command.options) {
    const std::string name = "--" + option.name();
    const bool fits = name == "--results" || option.group == "Output";
    if (other.empty() && !fits && command.has(name)) other = name;
  }
  if (!other.empty()) {
    throw UsageError(fault(other, "only --results and where to write", "a scan to run",
                           "leave --results out, or the rest"));
  }
  return run_measurement(options.run, {.measure = [&](Session& session) {
                           return session.judge_limits(options.results);
                         }});
}

void add_limits(CommandNode& parent) {
  const auto o = std::make_shared<LimitsCommand>();
  o->run.output.out = "reproduce-limits";
  parent.add(
      {.name = "limits",
       .about = "Judge paper A: distances, critical N, separability, sensitivity",
       .example = "Example: headgauge reproduce limits demo/model --text demo/text.txt\n"
                  "         headgauge reproduce limits gpt2 --text book.txt --out gpt2-limits\n"
                  "         headgauge reproduce limits --results gpt2-scan --out gpt2-limits",
       .alias = "A",
       .operands = {model_operand(o->run.input, "--results")},
       .options = join_options(
           {options_of(o->run.input), declared_options("LimitsCommand", {{"results", &o->results}}),
            options_of(o->request), adapted_options("LimitsCommand", options_of(o->run.output))}),
       .run = [=](const CommandNode& command) { return run_limits(command, *o); }});
}

struct TokensCommand {
  RunOptions run;
  TokensRequest request;
};

int run_tokens(const CommandNode& command, TokensCommand& options) {
  for (const char* option : {"--text", "--tokens", "--lengths"}) {
    if (command.has("MODEL") || !command.has(option)) continue;
    throw UsageError(fault(option, "a MODEL", "none", "name the model, or leave the option out"));
  }
  return run_measurement(options.run, {.measure = [&](Session& session) {
                           return session.reproduce(options.request);
                         }});
}

void add_tokens(CommandNode& parent) {
  const auto o = std::make_shared<TokensCommand>();
  o->run.output.out = "reproduce-tokens";
  Operand model = model_operand(o->run.input);
  model.required = false;
  parent.add(
      {.name = "tokens",
       .about = "Judge paper B: convergence on Gaussian tokens, on a sphere and in a model",
       .example =
           "Example: headgauge reproduce tokens demo/model --text demo/text.txt\n"
           "         headgauge reproduce tokens gpt2 --text book.txt --full --out gpt2-tokens",
       .alias = "B",
       .operands = {model},
       .options = join_options({options_of(o->run.input), options_of(o->request),
                                adapted_options("TokensCommand", options_of(o->run.output))}),
       .run = [=](const CommandNode& command) { return run_tokens(command, *o); }});
}

}  // namespace

void add_reproduce(CommandNode& app) {
  CommandNode& command =
      app.add({.name = "reproduce",
               .about = "Make the figures and judge the claims of the two papers",
               .example = "Example: headgauge reproduce limits demo/model --text "
                          "demo/text.txt\n"
                          "Each command has its own --help."});
  add_limits(command);
  add_tokens(command);
}

}  // namespace headgauge::cli
