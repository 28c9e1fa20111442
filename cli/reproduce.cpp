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

#include "base/file.hpp"
#include "cli/claims_table.hpp"
#include "cli/commands.hpp"
#include "cli/out_folder.hpp"
#include "cli/run.hpp"
#include "cli/usage.hpp"
#include "headgauge/report.hpp"

namespace headgauge::cli {
namespace {

constexpr const char* kSyntheticGroup = "What is drawn";

// The page and the figures, beside the results in `folder`.
std::vector<std::string> draw(const Results& results, const std::string& folder) {
  if (!has_report()) return {};
  const auto page = (std::filesystem::path(folder) / "report.html").string();
  write_report(results, page);
  const auto figures = (std::filesystem::path(folder) / "figures").string();
  const MadeFolder made(figures, kOutAdvice);
  const auto drawn = write_figures(results, figures);
  return {page, fmt::format("{} ({} SVG files)", figures, drawn.size())};
}

// What draw() left there before would pass for that of the results that now take its place.
void remove_drawn(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code none;  // what is not there need not go
  fs::remove(fs::path(folder) / "report.html", none);
  for (const auto& entry : fs::directory_iterator(fs::path(folder) / "figures", none)) {
    if (entry.path().extension() == ".svg") fs::remove(entry.path(), none);
  }
}

// What draw() will leave out.
void note_undrawn(Results& results) {
  if (has_report()) return;
  results.notices.push_back(
      "no page and no figures: this headgauge was configured with -DHEADGAUGE_REPORT=OFF");
}

int run_limits(RunOptions& options) {
  options.input.asked_by = "reproduce limits";
  options.input.resolve();
  RunSteps steps;
  steps.measure = [&](HeadSource& source, Progress* progress, std::stop_token stop) {
    const LimitsOptions limits{options.input.lengths, options.input.x_source(),
                               options.input.threads, options.scan.seed};
    return reproduce_limits(source, limits, progress, std::move(stop));
  };
  steps.complete = [&](Results& results) {
    remove_drawn(options.out);
    note_undrawn(results);
  };
  steps.table = render_claims;
  steps.finished = finished_layers;
  steps.saved = [&](const Results& results) { return draw(results, options.out); };
  return run_measurement(options, steps);
}

void add_limits(CLI::App& parent, Action& action) {
  auto* command = parent.add_subcommand(
      "limits", "Paper A: distances, critical N, separability, sensitivity, costs");
  auto options = std::make_shared<RunOptions>();
  options->out = "reproduce-limits";
  options->input.add_to(*command);
  options->add_output_to(
      *command,
      "Folder for results.json, heads.csv, report.html and figures/ (default\nreproduce-limits)");
  command->footer(
      "Example: headgauge reproduce limits demo/model --text demo/text.txt\n"
      "         headgauge reproduce limits gpt2 --text book.txt --out gpt2-limits");
  command->callback([=, &action] { action = [=] { return run_limits(*options); }; });
}

struct TokensCommand {
  RunOptions run;
  TokensOptions tokens;
  std::string grid;
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
  for (const char* option : {"--text", "--tokens", "--length"}) {
    if (has_model || command.get_option(option)->count() == 0) continue;
    throw UsageError(fault(option, "a MODEL", "none", "name the model, or leave the option out"));
  }
  if (!options.grid.empty()) tokens.grid = parse_integers(options.grid, "--grid");
  if (tokens.length > 0) input.lengths = {tokens.length};
  input.lengths_option = "--length";
  input.auto_advice = "leave --length out";
  if (has_model) tokens.model = [&] { return open_source(input); };
  tokens.threads = input.threads;
  tokens.seed = options.run.scan.seed;
  tokens.folder = options.run.out;

  RunSteps steps;
  steps.simulate = [&](Progress* progress, std::stop_token stop) {
    return reproduce_tokens(tokens, progress, std::move(stop));
  };
  steps.complete = [&](Results& results) {
    results.settings["text"] = input.texts;
    results.settings["tokens"] = input.tokens;
    remove_drawn(options.run.out);
    note_undrawn(results);
  };
  steps.table = render_claims;
  steps.finished = finished_experiments;
  steps.saved = [&](const Results& results) { return draw(results, options.run.out); };
  return run_measurement(options.run, steps);
}

void add_drawn(CLI::App& command, TokensCommand& options) {
  TokensOptions& tokens = options.tokens;
  command
      .add_option("--length", tokens.length,
                  "Context of the model (default 512, the paper's, as far as model and text\n"
                  "go)")
      ->option_text("L")
      ->check(whole_number(1))
      ->group(kWhatGroup);
  command
      .add_flag("--full", tokens.full,
                "Random tokens as many as in the paper (up to 30000, on the sphere 100000)\n"
                "with 200 replicates: hours; a run that was stopped goes on where it was")
      ->group(kSyntheticGroup);
  command.add_option("--dimension", tokens.dimension, "Dimension of random tokens (default 50)")
      ->option_text("D")
      ->check(whole_number(1))
      ->group(kSyntheticGroup);
  command
      .add_option("--grid", options.grid,
                  "Numbers of random tokens, such as 500,1000,2000,4000 (default 8 from 500\n"
                  "to 4000)")
      ->option_text("N,N...")
      ->check(some_text("numbers of tokens"))
      ->group(kSyntheticGroup);
  command
      .add_option("--replicates", tokens.replicates,
                  "Of every experiment (default 20, with --full 200; of a model 500)")
      ->option_text("K")
      ->check(whole_number(2))
      ->group(kSyntheticGroup);
}

void add_tokens(CLI::App& parent, Action& action) {
  auto* command = parent.add_subcommand(
      "tokens", "Paper B: convergence of Gaussian tokens, of a sphere, of a model");
  auto options = std::make_shared<TokensCommand>();
  options->run.out = "reproduce-tokens";
  options->run.input.add_source_to(*command);
  command->get_option("MODEL")->required(false);
  add_drawn(*command, *options);
  options->run.input.add_threads_to(*command);
  options->run.add_output_to(*command,
                             "Folder for results.json, report.html, figures/, and for gaussian/,\n"
                             "sphere/ and model/ (default reproduce-tokens)");
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
