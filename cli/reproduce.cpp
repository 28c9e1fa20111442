// headgauge reproduce: the figures and claims of the two papers for the model at hand.
#include "headgauge/reproduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "cli/claims_table.hpp"
#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/out_folder.hpp"
#include "cli/run.hpp"
#include "headgauge/files.hpp"
#include "headgauge/report.hpp"

namespace headgauge::cli {
namespace {

// The page and the figures, beside the results in `folder`.
std::vector<std::string> draw(const Results& results, const std::string& folder) {
  if (!has_report()) return {};
  const auto page = (std::filesystem::path(folder) / kReportFile).string();
  write_report(results, page);
  const auto figures = (std::filesystem::path(folder) / kFiguresFolder).string();
  const MadeFolder made(figures, kOutAdvice);
  const auto drawn = write_figures(results, figures);
  return {page, fmt::format("{} ({} SVG files)", figures, drawn.size())};
}

// What draw() will leave out.
void note_undrawn(Results& results) {
  if (has_report()) return;
  results.notices.push_back(
      "no page and no figures: this headgauge was configured with -DHEADGAUGE_REPORT=OFF");
}

struct LimitsCommand {
  RunOptions run;
  LimitsOptions limits;
  std::string results;  // in place of a model
};

Option results_option(LimitsCommand& o) {
  return {
      .member = "LimitsCommand::results",
      .value = &o.results,
      .form = "FILE",
      .group = option_group::input,
      .help = "Judge a finished scan in place of running a model: a results.json, or its folder",
      .details = "The claims that it has no figures for say what to give to `scan`",
      .expects = "a file or folder"};
}

// What is written and printed at the end of both ways.
RunSteps limits_steps(const std::string& out) {
  RunSteps steps;
  steps.complete = note_undrawn;
  steps.replaced = [&] { remove_drawings(out); };
  steps.table = render_claims;
  steps.finished = finished_layers;
  steps.saved = [&](const Results& results) { return draw(results, out); };
  return steps;
}

// The claims on a finished scan, for which no model is opened.
int judge(const CLI::App& command, LimitsCommand& options) {
  for (const CLI::Option* given : command.get_options()) {
    const Option* own = declaration(command, *given);
    const bool fits =
        own == nullptr || own->name() == "results" || own->group == option_group::output;
    if (given->count() == 0 || (fits && given->get_name() != "MODEL")) continue;
    throw UsageError(fault(given->get_name(), "only --results and where to write", "a scan to run",
                           "leave --results out, or the rest"));
  }
  const std::string file = results_file(options.results);
  Results scanned;
  RunSteps steps = limits_steps(options.run.output.out);
  steps.load = [&] { scanned = read_results(file); };
  steps.simulate = [&](Progress*, const std::stop_token&) {
    return judge_limits(std::move(scanned), file);
  };
  steps.complete = [&](Results& results) {
    write_settings({results_option(options)}, results.settings);
    note_undrawn(results);
  };
  return run_measurement(options.run, steps);
}

int run_limits(const CLI::App& command, LimitsCommand& options) {
  if (!options.results.empty()) return judge(command, options);
  InputOptions& input = options.run.input;
  input.asked_by = "reproduce limits";
  input.lengths = options.limits.lengths;
  input.x = options.limits.x;
  input.threads = options.limits.threads;
  const std::string& out = options.run.output.out;
  RunSteps steps = limits_steps(out);
  steps.open = [&](const InputOptions& text) {
    OpenedText opened = open_text(text);
    options.limits.cut = std::move(opened.cut);
    return std::move(opened.source);
  };
  steps.measure = [&](HeadSource& source, Progress* progress, std::stop_token stop) {
    return reproduce_limits(source, options.limits, progress, std::move(stop));
  };
  return run_measurement(options.run, steps);
}

void add_limits(CLI::App& parent, Action& action) {
  auto* command = parent.add_subcommand(
      "limits", "Paper A: distances, critical N, separability, sensitivity, costs");
  auto options = std::make_shared<LimitsCommand>();
  options->run.output.out = "reproduce-limits";
  options->run.input.add_to(*command);
  command->get_option("MODEL")->required(false);
  add_options(*command, {results_option(*options)});
  add_options(*command, options_of(options->limits));
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
  TokensOptions tokens;
};

// "gaussian finished, sphere 12 of 96 points": what there is of every experiment.
std::string finished_experiments(const Results& results) {
  std::string text;
  for (const char* name : {"gaussian", "sphere"}) {
    const LabelledArray* error = results.metric(fmt::format("{}_error_mean", name));
    if (error == nullptr) continue;
    const auto done = std::ranges::count_if(error->values, [](double v) { return !std::isnan(v); });
    if (done == 0) continue;
    text += fmt::format("{}{} of {} points of {}", text.empty() ? "" : ", ", done,
                        error->values.size(), name);
  }
  const std::string layers = finished_layers(results);
  if (layers.empty()) return text.empty() ? text : text + " were finished";
  return fmt::format("{}{}{}", text, text.empty() ? "" : ", ", layers);
}

int run_tokens(const CLI::App& command, TokensCommand& options) {
  InputOptions& input = options.run.input;
  input.asked_by = "reproduce tokens";
  TokensOptions& tokens = options.tokens;
  const bool has_model = command.get_option("MODEL")->count() > 0;
  for (const char* option : {"--text", "--tokens", "--lengths"}) {
    if (has_model || command.get_option(option)->count() == 0) continue;
    throw UsageError(fault(option, "a MODEL", "none", "name the model, or leave the option out"));
  }
  if (tokens.length > 0) input.lengths = {tokens.length};
  input.auto_advice = "leave --lengths out";
  if (has_model) tokens.model = [&] { return open_source(input); };
  input.threads = tokens.threads;
  tokens.folder = options.run.output.out;

  RunSteps steps;
  steps.simulate = [&](Progress* progress, std::stop_token stop) {
    return reproduce_tokens(tokens, progress, std::move(stop));
  };
  steps.complete = [&](Results& results) {
    write_settings(options_of(input), results.settings);
    note_undrawn(results);
  };
  steps.replaced = [&] { remove_drawings(tokens.folder); };
  steps.table = render_claims;
  steps.finished = finished_experiments;
  steps.saved = [&](const Results& results) { return draw(results, tokens.folder); };
  return run_measurement(options.run, steps);
}

void add_tokens(CLI::App& parent, Action& action) {
  auto* command = parent.add_subcommand(
      "tokens", "Paper B: convergence of Gaussian tokens, of a sphere, of a model");
  auto options = std::make_shared<TokensCommand>();
  options->run.output.out = "reproduce-tokens";
  options->run.input.add_to(*command);
  command->get_option("MODEL")->required(false);
  add_options(*command, options_of(options->tokens));
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
  auto* command = app.add_subcommand("reproduce", "The figures and claims of the two papers");
  command->require_subcommand(1);
  command->footer(
      "Example: headgauge reproduce limits demo/model --text demo/text.txt\n"
      "Each command has its own --help.");
  add_limits(*command, action);
  add_tokens(*command, action);
}

}  // namespace headgauge::cli
