// --plan of the commands that measure a model under a plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headgauge/attention_plan.hpp"
#include "headgauge/options.hpp"
#include "headgauge/scan.hpp"

namespace headgauge::cli {

// The plan that a command runs a model under.
struct PlanInput {
  std::string file;  // empty: none
  std::optional<AttentionPlan> plan;

  // `owner` is the command's struct.
  Option option(const std::string& owner);
  // Lets the model run under the plan, if there is one. Throws as read_plan() and
  // make_interventions() do, and UsageError where the scan is under a pattern or normalizer itself.
  void apply(HeadSource& source, const ScanOptions& scan);
  // The heads that the plan leaves as they are, as ScanOptions::heads has them. UsageError where
  // there are none.
  std::string unchanged_heads(const HeadSource& source) const;
  // Says in the settings which plan it was, and in a notice where its context is another.
  void describe(const std::string& owner, Results& results);
};

// A notice where the results are of texts that are shorter or longer than a plan was made for;
// empty where they are not.
std::string context_notice(const AttentionPlan& plan, const std::string& file,
                           const Results& results);

// The file in `folder` of the plan that was made for `budget`: "50 %" is plan_50.json.
std::string plan_file(const std::string& folder, const std::string& budget);

// Notices of the files of plans in the folder, named as plan_file() names them, that are not among
// those written.
std::vector<std::string> older_plans(const std::string& folder,
                                     const std::vector<std::string>& written);

}  // namespace headgauge::cli
