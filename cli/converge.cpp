// headgauge converge: how much context a head needs.
#include "headgauge/converge.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/tables.hpp"
#include "headgauge/synthetic.hpp"

namespace headgauge::cli {
namespace {

// converge --synthetic: random tokens instead of a model and a text.
struct SyntheticCommand {
  std::string tokens;  // value of --synthetic; empty: a model is measured
  SyntheticOptions options;

  // Adds the options that only synthetic tokens have, and makes MODEL optional.
  void add_to(CLI::App& command);
  bool chosen() const { return !tokens.empty(); }
  // Throws UsageError for one of these options without --synthetic, or if MODEL is missing.
  void refuse(const CLI::App& command) const;
  // Throws UsageError for an option that tokens of this kind do not use.
  void refuse_idle(const CLI::App& command) const;
  // `shared`: the options that runs on models have, too.
  int run(const CLI::App& command, RunOptions& run, const ConvergeOptions& shared);
};

// Options that runs on models have, too.
const std::set<std::string> kShared = {"grid", "points",  "replicates", "normalizer",
                                       "seed", "threads", "out",        "force",
                                       "json", "quiet",   "help"};

bool given(const CLI::App& command, const std::string& name) {
  return command.get_option(fmt::format("--{}", name))->count() > 0;
}

// Returns the options that only synthetic tokens have.
std::vector<Option> own_options(SyntheticOptions& options) {
  std::vector<Option> all = options_of(options);
  std::erase_if(all, [](const Option& option) { return kShared.contains(option.name()); });
  return all;
}

bool is_own(const std::string& name) {
  SyntheticOptions options;
  const std::vector<Option> own = own_options(options);
  return std::ranges::find(own, name, &Option::name) != own.end();
}

void SyntheticCommand::add_to(CLI::App& command) {
  command.get_option("MODEL")->required(false);
  std::vector<Option> own = own_options(options);
  find_option(own, "synthetic").value = &tokens;
  add_options(command, own);
}

void SyntheticCommand::refuse(const CLI::App& command) const {
  SyntheticOptions none;
  for (const Option& option : own_options(none)) {
    if (!given(command, option.name())) continue;
    throw UsageError(
        fault("--" + option.name(), "--synthetic", "a model", "leave one of the two out"));
  }
  if (command.get_option("MODEL")->count() == 0) {
    throw UsageError(fault("converge", "MODEL", "none", "see headgauge converge --help"));
  }
}

void SyntheticCommand::refuse_idle(const CLI::App& command) const {
  const auto only = [&](const char* name, bool used, const char* expected,
                        const std::string& found) {
    if (used || !given(command, name)) return;
    throw UsageError(fault(fmt::format("--{}", name), expected, found, "leave one of the two out"));
  };
  only("variance", tokens != "sphere", "gaussian tokens or atoms", tokens);
  only("radius", tokens != "gaussian", "sphere tokens or atoms", tokens);
}

int SyntheticCommand::run(const CLI::App& command, RunOptions& run, const ConvergeOptions& shared) {
  if (command.get_option("MODEL")->count() > 0) {
    throw UsageError(fault("converge", "a model or --synthetic", "both", "leave one out"));
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (is_own(name) || kShared.contains(name)) continue;
    throw UsageError(
        fault(fmt::format("--{}", name), "a model", "--synthetic", "leave one of the two out"));
  }
  refuse_idle(command);
  options.tokens = tokens;
  options.grid = shared.grid;
  if (given(command, "points")) options.points = shared.points;
  if (given(command, "replicates")) options.replicates = shared.replicates;
  options.normalizer = shared.scan.normalizer;
  options.seed = shared.scan.seed;
  options.threads = shared.scan.threads;

  RunSteps steps;
  steps.measure = [&](Session& session) { return session.simulate(options); };
  steps.table = render_tables;
  return run_measurement(run, steps);
}

struct ConvergeCommand {
  RunOptions run;
  ConvergeRequest request;
  SyntheticCommand synthetic;
  int top = 0;
};

int run(const CLI::App& command, ConvergeCommand& options) {
  if (options.synthetic.chosen()) {
    return options.synthetic.run(command, options.run, options.request.options);
  }
  options.synthetic.refuse(command);
  RunSteps steps;
  steps.measure = [&](Session& session) { return session.converge(options.request); };
  steps.table = [&](const Results& results, const TableOptions& terminal) {
    TableOptions table = terminal;
    table.top = options.top;
    return render_tables(results, table);
  };
  return run_measurement(options.run, steps);
}

}  // namespace

void add_converge(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("converge", "Measure how much context every head needs");
  auto options = std::make_shared<ConvergeCommand>();
  options->run.input.add_to(*command);
  add_options(*command, options_of(options->request));
  add_options(*command, options_of(options->run.output));
  add_options(*command, {shard_option(options->run.shard)});
  add_options(*command, {top_option(options->top)});
  command->footer(
      "Example: headgauge converge demo/model --text demo/text.txt --out demo/converge\n"
      "         headgauge converge gpt2 --text book.txt --lengths 1024 --replicates 200\n"
      "         headgauge converge --synthetic gaussian --out gaussian");
  options->synthetic.add_to(*command);
  command->callback([=, &action] { action = [=] { return run(*command, *options); }; });
}

}  // namespace headgauge::cli
