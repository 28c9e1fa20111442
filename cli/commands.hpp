// The sub-commands of headgauge, one file each.
#pragma once

#include "cli/command.hpp"

namespace headgauge::cli {

// Each function adds its sub-command to `app`.
void add_scan(CommandNode& app);
void add_cache(CommandNode& app);
void add_compare(CommandNode& app);
void add_converge(CommandNode& app);
void add_diff(CommandNode& app);
void add_series(CommandNode& app);
void add_validate(CommandNode& app);
void add_merge(CommandNode& app);
void add_plan(CommandNode& app);
void add_reproduce(CommandNode& app);
void add_task(CommandNode& app);
void add_list(CommandNode& app);
void add_inspect(CommandNode& app);
void add_report(CommandNode& app);
void add_help(CommandNode& app);
// Lists the options of every command as JSON, for tools/docs.py; hidden in the help.
void add_options_list(CommandNode& app);

}  // namespace headgauge::cli
