// The sub-commands of headgauge, one file each; main.cpp only connects them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace headgauge::cli {

// Runs the chosen sub-command; returns the exit code.
using Action = std::function<int()>;

// Each function adds its sub-command to `app`; parsing that sub-command sets `action`.
void add_scan(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_converge(CLI::App& app, Action& action);
void add_diff(CLI::App& app, Action& action);
void add_series(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);
void add_merge(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_reproduce(CLI::App& app, Action& action);
void add_task(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_report(CLI::App& app, Action& action);
void add_help(CLI::App& app, Action& action);
// Lists the options of every command as JSON, for tools/docs.py; hidden in the help.
void add_options_list(CLI::App& app, Action& action);

}  // namespace headgauge::cli
