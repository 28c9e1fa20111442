// headgauge task: writes cases of a retrieval task in the tokens of a model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/print.hpp"
#include "cli/stop.hpp"
#include "cli/usage.hpp"
#include "headgauge/generators.hpp"
#include "headgauge/session.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {
namespace {

struct TaskCommand {
  std::string model;
  std::string out;
  bool quiet = false;
  TaskOptions task;
};

Option model_option(TaskCommand& o) {
  return {.member = "TaskCommand::model",
          .value = &o.model,
          .form = "MODEL",
          .group = option_group::drawn,
          .help = "The model in whose tokens the cases are, as for headgauge scan",
          .expects = "a model"};
}

std::vector<Option> output_options(TaskCommand& o) {
  return in_group(option_group::output, {{.member = "TaskCommand::out",
                                          .value = &o.out,
                                          .form = "FILE",
                                          .help = "The task file to write, one case a line",
                                          .expects = "a file"},
                                         {.member = "TaskCommand::quiet",
                                          .value = &o.quiet,
                                          .form = "",
                                          .help = "Print only errors"}});
}

int run(const TaskCommand& command) {
  if (command.model.empty()) {
    throw UsageError(fault("task", "--model MODEL", "none", "see headgauge task --help"));
  }
  if (command.out.empty()) {
    throw UsageError(fault("task", "a file to write", "no --out", "add --out FILE"));
  }
  const auto signal = end_on_signal();
  write_task(Model(command.model), command.task, command.out, signal->token());
  signal->loaded();
  if (!command.quiet) print("Written: {}\n", legible(command.out));
  return 0;
}

std::string names_of_tasks() {
  std::vector<std::string> lines;
  for (const TaskInfo& info : task_infos()) {
    lines.push_back(fmt::format("{}: {}", info.name, info.meaning));
  }
  return fmt::format("The task:\n{}", fmt::join(lines, "\n"));
}

}  // namespace

void add_task(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("task", "Write cases of a retrieval task: prompts and their answers");
  auto options = std::make_shared<TaskCommand>();
  command->add_option("NAME", options->task.task, names_of_tasks())
      ->option_text(" ")
      ->required()
      ->check(some_text("the name of a task"));
  add_options(*command, {model_option(*options)});
  add_options(*command, options_of(options->task));
  add_options(*command, output_options(*options));
  command->footer(
      "Example: headgauge task passkey --model gpt2 --length 512 --cases 100 --out passkey.jsonl\n"
      "         headgauge task keys --model gpt2 --text book.txt --items 8 --out keys.jsonl");
  command->callback([=, &action] { action = [=] { return run(*options); }; });
}

}  // namespace headgauge::cli
