// --plan and --export of headgauge plan: plans for other tools.
#pragma once

#include <string>
#include <vector>

#include "cli/run.hpp"
#include "headgauge/plan.hpp"

namespace headgauge::cli {

struct PlanExportOptions {
  std::string plan;                  // an existing one; empty: what the search makes
  std::vector<std::string> formats;  // names
};

std::vector<Option> options_of(PlanExportOptions& options);

// The formats, once there is a folder to write them to. UsageError.
std::vector<PlanFormat> export_formats(const PlanExportOptions& options, const std::string& out);

// Writes the plan in every format.
PlanExport export_plan(const AttentionPlan& plan, const std::vector<PlanFormat>& formats,
                       const SourceInfo& source, const std::string& out);

// Says what the tools keep of the cache where that is more than the plan does.
void print_shares(const PlanExport& exported);

// Exports the plan of options.plan, which is for the model of `run`, and prints what was written.
// Returns the exit code.
int export_existing(const PlanExportOptions& options, const RunOptions& run);

}  // namespace headgauge::cli
