// --plan of the commands that measure a model under a plan.
#pragma once

#include <string>
#include <vector>

#include "headgauge/attention_plan.hpp"
#include "headgauge/options.hpp"
#include "headgauge/scan.hpp"

namespace headgauge::cli {

// `owner` is the command's struct.
Option plan_option(const std::string& owner, std::string& file);

// Lets the model run under the plan of the file, if there is one. Throws as read_plan() and
// make_interventions() do, and UsageError where the scan is under a pattern or normalizer itself.
void run_under_plan(HeadSource& source, const std::string& file, const ScanOptions& scan);

// The heads that the plan leaves as they are, as ScanOptions::heads has them.
std::string unchanged_heads(const std::string& file, const HeadSource& source);

// The file in `folder` of the plan that was made for `budget`: "50 %" is plan_50.json.
std::string plan_file(const std::string& folder, const std::string& budget);

}  // namespace headgauge::cli
