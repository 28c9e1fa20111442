// headgauge converge: how much context a head needs.
#include "headgauge/converge.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "cli/commands.hpp"
#include "cli/run.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge::cli {
namespace {

// Options that runs on models and on synthetic tokens have.
const std::set<std::string> kShared = {"grid", "points",  "replicates", "normalizer",
                                       "seed", "threads", "out",        "force",
                                       "json", "quiet",   "table",      "explain"};

struct ConvergeCommand {
  RunOptions run;
  ConvergeRequest request;
  std::string tokens;          // value of --synthetic; empty: a model is measured
  SyntheticOptions synthetic;  // random tokens instead of a model and a text
};

// Returns the options that only synthetic tokens have.
std::vector<Option> synthetic_options(ConvergeCommand& o) {
  std::vector<Option> own = without(options_of(o.synthetic), kShared);
  find_option(own, "synthetic").value = &o.tokens;
  return own;
}

// Throws UsageError for an option of the other kind of run, and for a model beside synthetic
// tokens. `own`: the options of synthetic tokens.
void require_one_kind(const CommandNode& command, const std::vector<Option>& own,
                      const std::string& tokens) {
  const bool synthetic = !tokens.empty();
  if (synthetic && command.has("MODEL")) {
    throw UsageError(fault("converge", "a model or --synthetic", "both", "leave one out"));
  }
  const auto refuse = [](const std::string& name, std::string_view expected,
                         std::string_view found) {
    throw UsageError(fault(name, expected, found, "leave one of the two out"));
  };
  for (const Option& option : command.options) {
    const std::string name = "--" + option.name();
    if (!command.has(name) || kShared.contains(option.name())) continue;
    const bool is_own = std::ranges::count(own, option.name(), &Option::name) > 0;
    if (is_own && !synthetic) refuse(name, "--synthetic", "a model");
    if (!is_own && synthetic) refuse(name, "a model", "--synthetic");
  }
  if (tokens == "sphere" && command.has("--variance")) {
    refuse("--variance", "gaussian tokens or atoms", tokens);
  }
  if (tokens == "gaussian" && command.has("--radius")) {
    refuse("--radius", "sphere tokens or atoms", tokens);
  }
}

int run(const CommandNode& command, ConvergeCommand& o) {
  require_one_kind(command, synthetic_options(o), o.tokens);
  if (o.tokens.empty()) {
    return run_measurement(
        o.run, {.measure = [&](Session& session) { return session.converge(o.request); }});
  }
  const ConvergeOptions& shared = o.request.options;
  o.synthetic.tokens = o.tokens;
  o.synthetic.grid = shared.grid;
  if (command.has("--points")) o.synthetic.points = shared.points;
  if (command.has("--replicates")) o.synthetic.replicates = shared.replicates;
  o.synthetic.normalizer = shared.scan.normalizer;
  o.synthetic.seed = shared.scan.seed;
  o.synthetic.threads = shared.scan.threads;
  return run_measurement(
      o.run, {.measure = [&](Session& session) { return session.simulate(o.synthetic); }});
}

}  // namespace

void add_converge(CommandNode& app) {
  const auto o = std::make_shared<ConvergeCommand>();
  app.add({.name = "converge",
           .about = "Measure how much context every head needs",
           .example =
               "Example: headgauge converge demo/model --text demo/text.txt --out "
               "demo/converge\n"
               "         headgauge converge gpt2 --text book.txt --lengths 1024 --replicates "
               "200\n"
               "         headgauge converge --synthetic gaussian --out gaussian",
           .operands = {model_operand(o->run.input, "--synthetic")},
           .options = join_options({options_of(o->run.input), options_of(o->request),
                                    options_of(o->run.output), run_options(o->run, true),
                                    synthetic_options(*o)}),
           .run = [=](const CommandNode& command) { return run(command, *o); }});
}

}  // namespace headgauge::cli
