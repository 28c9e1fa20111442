// headgauge task: writes cases of a retrieval task in the tokens of a model.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.hpp"
#include "cli/print.hpp"
#include "cli/stop.hpp"
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

void add_task(CommandNode& app) {
  const auto o = std::make_shared<TaskCommand>();
  app.add({.name = "task",
           .about = "Write cases of a retrieval task: prompts and their answers",
           .example = "Example: headgauge task passkey --model gpt2 --length 512 --cases 100 --out "
                      "passkey.jsonl\n"
                      "         headgauge task keys --model gpt2 --text book.txt --items 8 --out "
                      "keys.jsonl",
           .operands = {{.name = "NAME",
                         .help = names_of_tasks(),
                         .value = &o->task.task,
                         .expects = "the name of a task"}},
           .options = join_options(
               {declared_options("TaskCommand", {{"model", &o->model}}), options_of(o->task),
                declared_options("TaskCommand", {{"out", &o->out}, {"quiet", &o->quiet}})}),
           .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
