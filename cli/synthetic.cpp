#include "cli/synthetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <set>

#include "cli/input.hpp"
#include "cli/synthetic_table.hpp"
#include "cli/usage.hpp"

namespace headgauge::cli {
namespace {

constexpr const char* kGroup = "Synthetic tokens";
constexpr int kMostPoints = 1000;

const std::set<std::string> kOwn = {"synthetic", "full",       "dimension",        "variance",
                                    "radius",    "components", "values",           "scales",
                                    "horizons",  "reference",  "reference-tokens", "radii"};
const std::set<std::string> kShared = {"grid",    "points", "replicates", "normalizer", "seed",
                                       "threads", "out",    "json",       "quiet",      "help"};

std::string state_path(const std::string& folder) {
  return (std::filesystem::path(folder) / "convergence_state.json").string();
}

bool given(const CLI::App& command, const std::string& name) {
  return command.get_option(fmt::format("--{}", name))->count() > 0;
}

// Splits at each `separator`.
std::vector<double> numbers(const std::string& text, char separator, const std::string& option) {
  std::vector<double> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    double value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || (stop != end && *stop != separator)) {
      throw UsageError(fault(option, "numbers separated by commas, or FIRST:LAST:COUNT",
                             fmt::format("\"{}\"", text), "correct the list"));
    }
    values.push_back(value);
    if (stop == end) return values;
    at = stop + 1;
  }
}

void add_law(CLI::App& command, SyntheticOptions& options) {
  command.add_option("--dimension", options.dimension, "Dimension of the tokens (default 50)")
      ->option_text("D")
      ->check(whole_number(1))
      ->group(kGroup);
  command
      .add_option("--variance", options.variance,
                  "Of a coordinate: Gaussian tokens (default 0.1), or those of each\n"
                  "component of a mixture (default 0.05)")
      ->option_text("V")
      ->check(positive_number())
      ->group(kGroup);
  command
      .add_option("--radius", options.radius,
                  "Of the sphere, or of that on which a mixture's means lie (default 1)")
      ->option_text("R")
      ->check(positive_number())
      ->group(kGroup);
  command.add_option("--components", options.components, "Of a mixture (default 4)")
      ->option_text("K")
      ->check(whole_number(1))
      ->group(kGroup);
  command
      .add_option("--values", options.values,
                  "The matrix V: identity (the default), or random as in the paper's code")
      ->option_text("identity|random")
      ->check(one_of({"identity", "random"}))
      ->group(kGroup);
}

}  // namespace

std::vector<double> parse_numbers(const std::string& text, const std::string& option) {
  if (text.find(':') == text.npos) return numbers(text, ',', option);
  const std::vector<double> range = numbers(text, ':', option);
  if (range.size() != 3 || !(range[0] > 0) || !(range[1] > 0) || !std::isfinite(range[0]) ||
      !std::isfinite(range[1]) || range[2] != std::floor(range[2]) || range[2] < 1 ||
      range[2] > kMostPoints) {
    throw UsageError(fault(option, "FIRST:LAST:COUNT, numbers above 0 and how many from 1 to 1000",
                           fmt::format("\"{}\"", text), "correct the range"));
  }
  return geometric(range[0], range[1], static_cast<int>(range[2]));
}

void SyntheticCommand::add_to(CLI::App& command) {
  command.get_option("MODEL")->required(false);
  command
      .add_option("--synthetic", tokens,
                  "Random tokens in place of a model and a text, against the limit of\n"
                  "attention over them, which is known")
      ->option_text("gaussian|sphere|mixture")
      ->check(one_of({"gaussian", "sphere", "mixture"}))
      ->group(kGroup);
  command
      .add_flag("--full", options.full,
                "The paper's numbers of tokens (up to 30000, of a sphere 100000) and 200\n"
                "replicates; with --out a run that was stopped goes on where it was")
      ->group(kGroup);
  add_law(command, options);
  command
      .add_option("--scales", scales,
                  "Scales of queries and keys (default 0.05:50:12, of a sphere 10:1e5:12)")
      ->option_text("S,S...|FIRST:LAST:COUNT")
      ->group(kGroup);
  command.add_option("--horizons", horizons, "In place of scales, the horizons they are to give")
      ->option_text("H,H...|FIRST:LAST:COUNT")
      ->group(kGroup);
  command
      .add_option("--reference", options.reference,
                  "exact (the default where the limit is known), or sample: one large\n"
                  "draw, as in the paper's code")
      ->option_text("exact|sample")
      ->check(one_of({"exact", "sample"}))
      ->group(kGroup);
  command
      .add_option("--reference-tokens", options.reference_tokens,
                  "Tokens of that draw (default 100000; 4 times the most of --grid under a\n"
                  "rule that is not softmax)")
      ->option_text("N")
      ->check(whole_number(4))
      ->group(kGroup);
  command
      .add_option("--radii", radii,
                  "Radii of the balls whose worst query is looked at, in standard\n"
                  "deviations (default 0.5,1,1.5,2,2.5,3)")
      ->option_text("R,R...")
      ->group(kGroup);
}

void SyntheticCommand::refuse(const CLI::App& command) const {
  for (const std::string& name : kOwn) {
    if (!given(command, name)) continue;
    throw UsageError(
        fault(fmt::format("--{}", name), "--synthetic", "a model", "leave one of the two out"));
  }
  if (command.get_option("MODEL")->count() == 0) {
    throw UsageError(fault("converge", "MODEL", "none", "see headgauge converge --help"));
  }
}

void SyntheticCommand::refuse_idle(const CLI::App& command, bool grid) const {
  const auto only = [&](const char* name, bool used, const char* expected,
                        const std::string& found) {
    if (used || !given(command, name)) return;
    throw UsageError(fault(fmt::format("--{}", name), expected, found, "leave one of the two out"));
  };
  only("variance", tokens != "sphere", "gaussian or mixture tokens", tokens);
  only("radius", tokens != "gaussian", "sphere or mixture tokens", tokens);
  only("components", tokens == "mixture", "mixture tokens", tokens);
  only("points", !grid, "the default grid", "--grid");
}

int SyntheticCommand::run(const CLI::App& command, RunOptions& run,
                          const std::optional<std::string>& grid, const ConvergeOptions& shared) {
  if (command.get_option("MODEL")->count() > 0) {
    throw UsageError(fault("converge", "a model or --synthetic", "both", "leave one out"));
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (kOwn.contains(name) || kShared.contains(name)) continue;
    throw UsageError(
        fault(fmt::format("--{}", name), "a model", "--synthetic", "leave one of the two out"));
  }
  refuse_idle(command, grid.has_value());
  options.tokens = tokens;
  if (!scales.empty()) options.scales = parse_numbers(scales, "--scales");
  if (!horizons.empty()) options.horizons = parse_numbers(horizons, "--horizons");
  if (!radii.empty()) options.radii = parse_numbers(radii, "--radii");
  if (grid && grid->find(':') == grid->npos) {
    options.grid = parse_integers(*grid, "--grid");
  } else if (grid) {
    for (double n : parse_numbers(*grid, "--grid")) {
      // Checked for sense with the rest; truncated as the default grid is.
      options.grid.push_back(static_cast<int>(std::clamp(n + 1e-6, 0.0, 2e9)));
    }
  }
  if (given(command, "points")) options.points = shared.points;
  if (given(command, "replicates")) options.replicates = shared.replicates;
  options.normalizer = run.scan.normalizer;
  options.seed = run.scan.seed;
  options.threads = run.input.threads;
  if (!run.out.empty()) options.state = state_path(run.out);

  RunSteps steps;
  steps.simulate = [&](Progress* progress, std::stop_token stop) {
    return headgauge::simulate(options, progress, std::move(stop));
  };
  steps.complete = [](Results&) {};
  steps.table = render_simulation;
  steps.finished = [](const Results& results) {
    const LabelledArray* error = results.metric("error_mean");
    const auto done = std::ranges::count_if(error->values, [](double v) { return !std::isnan(v); });
    return done == 0 ? std::string()
                     : fmt::format("{} of {} points were finished", done, error->values.size());
  };
  steps.saved = [&](const Results& /*results*/) {
    std::filesystem::remove(options.state);
    return std::vector<std::string>();
  };
  return run_measurement(run, steps);
}

}  // namespace headgauge::cli
