// headgauge validate: which metrics of a head predict what becomes of the loss when it is changed.
#include "headgauge/validate.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/named_model.hpp"
#include "cli/options.hpp"
#include "cli/run.hpp"
#include "cli/run_journal.hpp"
#include "cli/validate_table.hpp"

namespace headgauge::cli {
namespace {

struct ValidateCommand {
  RunOptions run;
  ValidateOptions validate;
  int top = 20;
};

// The input of text number `text` alone.
// One of the texts, which the rank that measures it asks for.
InputOptions of_text(const InputOptions& input, std::size_t text) {
  InputOptions one = input;
  std::vector<std::string>& files = one.texts.empty() ? one.tokens : one.texts;
  files = {files[text]};
  return one;
}

// File names, with their folders where two are the same.
std::vector<std::string> names_of(const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& file : files) names.push_back(std::filesystem::path(file).filename());
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  return std::ranges::adjacent_find(sorted) == sorted.end() ? names : files;
}

int run(ValidateCommand& command) {
  InputOptions& input = command.run.input;
  input.take(command.validate.scan);
  input.asked_by = "validate";
  input.read_again = true;
  const std::vector<std::string>& files = input.texts.empty() ? input.tokens : input.texts;
  if (files.empty()) {
    throw UsageError(fault("validate", "texts", "neither --text nor --tokens",
                           "name at least two texts, such as --text a.txt b.txt"));
  }
  require_checkpoint(input, "validate");
  // The texts are measured one after another, all on one model.
  NamedModel held(input.model);
  held.hold();
  const auto open = [&](std::size_t text) {
    held.require_unchanged();
    return open_source(of_text(input, text));
  };
  RunSteps steps;
  steps.journaled = &command.validate.scan;
  std::vector<Document> documents;
  steps.load = [&] {
    documents = load_documents(input);
    require_apart(documents, "--text");
    std::vector<Index> tokens;
    for (const Document& document : documents) tokens.push_back(std::ssize(document.tokens));
    command.validate.text_costs = document_costs(tokens);
  };
  steps.describe = [&](Results& results) {
    held.describe(results);
    describe_documents(documents, results);
  };
  steps.simulate = [&](Progress* progress, std::stop_token stop) {
    return validate(names_of(files), open, command.validate, progress, std::move(stop));
  };
  steps.complete = [&](Results& results) {
    write_settings(options_of(input), results.settings);
    write_settings({top_option(command.top)}, results.settings);
  };
  steps.table = [&](const Results& results, const TableOptions& terminal) {
    TableOptions table = terminal;
    table.top = command.top;
    return render_validation(results, table);
  };
  steps.finished = [](const Results& results) -> std::string {
    if (results.coord("text") == nullptr) return "";
    const Index texts = results.coord_size("text");
    return fmt::format("{} {} measured", texts, texts == 1 ? "text was" : "texts were");
  };
  return run_measurement(command.run, steps);
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "validate", "Tell which metrics predict what a change of a head does to the loss");
  auto options = std::make_shared<ValidateCommand>();
  options->run.input.add_to(*command);
  add_options(*command, options_of(options->validate));
  add_options(*command, options_of(options->run.output));
  add_options(*command, {shard_option(options->run.shard)});
  Option top = top_option(options->top);
  top.help = "Show the first K metrics of the table (default {})";
  add_options(*command, {top});
  command->footer("Example: headgauge validate demo/model --text a.txt b.txt c.txt --out validity");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
