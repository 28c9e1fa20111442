// Runs under a plan, and files of plans.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headgauge/attention_plan.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"

namespace headgauge {

// The plan under which a run measures its model.
struct PlanInput {
  std::string file;  // empty: none
  std::optional<AttentionPlan> plan = {};

  // Applies the plan to the model, if there is one. Throws as read_plan() and make_interventions()
  // do; UsageError if the scan has a pattern or a normalizer itself.
  void apply(HeadSource& source, const ScanOptions& scan);
  // Returns the heads that the plan leaves unchanged, in the form of ScanOptions::heads. Throws
  // UsageError if there are none.
  std::string unchanged_heads(const HeadSource& source) const;
  // Records the plan in the settings; adds a notice if the context differs from the plan's.
  void describe(Results& results) const;
};

// Returns a notice if the texts of the results are shorter or longer than those of the plan; else
// an empty text.
std::string context_notice(const AttentionPlan& plan, const std::string& file,
                           const Results& results);

// Returns the file in `folder` of the plan for `budget`: "50 %" gives plan_50.json.
std::string plan_file(const std::string& folder, const std::string& budget);

// Returns notices about files in the folder that are named as by plan_file() but were not written
// by this run.
std::vector<std::string> older_plans(const std::string& folder,
                                     const std::vector<std::string>& written);

}  // namespace headgauge
