// Runs under a plan, and the files of plans.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headgauge/attention_plan.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"

namespace headgauge {

// The plan that a run has its model under.
struct PlanInput {
  std::string file;  // empty: none
  std::optional<AttentionPlan> plan = {};

  // Puts the model under the plan, if there is one. Throws as read_plan() and make_interventions()
  // do, and UsageError where the scan has a pattern or a normalizer itself.
  void apply(HeadSource& source, const ScanOptions& scan);
  // The heads that the plan leaves as they are, as ScanOptions::heads has them. Throws UsageError
  // where there are none.
  std::string unchanged_heads(const HeadSource& source) const;
  // Records which plan it was in the settings, and notes a context that differs from the plan's.
  void describe(Results& results) const;
};

// A notice where the texts of the results are shorter or longer than those that a plan was made
// for; else empty.
std::string context_notice(const AttentionPlan& plan, const std::string& file,
                           const Results& results);

// The file in `folder` of the plan that was made for `budget`: "50 %" is plan_50.json.
std::string plan_file(const std::string& folder, const std::string& budget);

// Notices about files in the folder that are named as plan_file() names them and were not written.
std::vector<std::string> older_plans(const std::string& folder,
                                     const std::vector<std::string>& written);

}  // namespace headgauge
