// Changes a model's attention head by head, and shows on text that had no part in choosing what
// that does to the loss (docs/plan.md).
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/attention_plan.hpp"
#include "headgauge/options.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

enum class PlanObjective {
  memory,  // the lowest loss at a share of the key-value cache, or the smallest share at a loss
  loss,    // the lowest loss, whatever the cache
};

struct PlanOptions {
  PlanObjective objective = PlanObjective::memory;
  // At most this share of the key-value cache; absent: 0.5, unless `allow` is given.
  std::optional<double> memory;
  // The smallest share of the cache at which the loss is shown to rise by less than so many nats.
  std::optional<double> allow;
  // Shares at which plans are made for the curve of loss against cache.
  std::vector<double> curve = {0.75, 0.5, 0.25};
  // What a head may get in place of full attention, besides itself. Empty patterns: 4 sinks and a
  // recent window, of so many keys in all as the shares of the curve, 1/16 and 1/64 of the context
  // allow, 16 at the least. Empty normalizers: "uniform", and for the objective `loss`
  // temperatures as well.
  std::vector<std::string> patterns;
  std::vector<std::string> normalizers;
  int random_plans = 20;  // dealings of the plan's entries to other heads
  // Heads under a candidate whose loss is measured one by one before the search; those whose output
  // changes least come first. 0: all.
  int screen = 0;
  int threads = 0;
  std::uint64_t seed = 0;
  std::string state;  // file that measured losses are saved to and read from; empty: none
};

std::vector<Option> options_of(PlanOptions& options);

// The texts of a plan. Every document of the three has the same number of tokens.
struct PlanTexts {
  HeadSource& search;   // on which moves are tried
  HeadSource& check;    // which chooses among what the search found
  HeadSource& confirm;  // which is looked at once, at the end
};

// A plan that was made for a budget.
struct MadePlan {
  std::string budget;  // its label in the results: "50 %", "lowest loss", "rise of 0.01"
  AttentionPlan plan;
};

struct PlanResults {
  Results results;
  std::vector<MadePlan> plans;  // that of the objective first
};

// Screens every key-value head alone under every candidate, then searches for plans by their joint
// loss (docs/mathematics.md 7e): greedily from full attention and from the smallest windows, by
// head and by layer, then by exchanges, from the best of these and from equal windows; of what is
// found, that with the lowest loss on `check` is the plan. On `confirm` the plans are set against
// others of the same size: equal windows, with and without sinks, budgets by layer, budgets of
// converge(), the plan's entries dealt to other heads, and the heaviest keys. The results have dims
// layer, kv_head, candidate, method, budget, document and draw (catalogue/17-plan.json).
// A model without a loss (BERT) is judged by the relative change of its last hidden states, and
// settings say so (judged_by). Deterministic on any number of threads. When `stop` is requested,
// what was measured is kept in options.state and the results are partial and empty; the same call
// goes on from there. Throws UsageError for options that do not fit, BadInputError for documents of
// different lengths and for a state of other settings, UnsupportedError for a source that is not a
// model, and for the objective `loss` of one that has none.
PlanResults make_plan(const PlanTexts& texts, const PlanOptions& options,
                      Progress* progress = nullptr, std::stop_token stop = {});

// Sentences on what was found, the one to act on first.
std::vector<SummaryLine> summarize_plan(const Results& results);

// What a plan is written as for other tools (docs/plan.md).
enum class PlanFormat {
  duo,      // the folder of DuoAttention: full_attention_heads.tsv, config.json, and sizes by head
  kvpress,  // headgauge_press.py, a press of NVIDIA's kvpress, and the plan.json that it reads
};

// The format of a name. UsageError, which lists the names and calls itself `option`, for one that
// is not known.
PlanFormat plan_format(const std::string& name, const std::string& option = "PlanFormat");
// "duo, kvpress".
std::string plan_format_names();

// What the formats cannot say of heads that attend so; empty: they can.
std::string not_exported(const HeadPlan& head);

// Leaves to a search only what all of the formats can say: UsageError for a pattern or a normalizer
// of the options that one cannot, and no normalizers where the options leave them open. Returns
// notices of what is not tried. UnsupportedError for a model that the tool does not know.
std::vector<std::string> keep_exportable(PlanOptions& options,
                                         const std::vector<PlanFormat>& formats,
                                         const SourceInfo& source);

struct PlanExport {
  std::vector<std::string> files;    // their paths
  std::vector<std::string> shares;   // what of the cache the tool keeps, where the plan keeps less
  std::vector<std::string> notices;  // what the format says otherwise than the plan
};

// Writes a plan for another tool: into a folder of its name in `folder`, which is made if need be.
// Throws UnsupportedError, which names the first head, for what the format cannot say, and where
// the tool would keep more of the cache than the plan was allowed or all of it, ResourceError for
// files that cannot be written; nothing is written then but what came before the file that failed.
PlanExport export_plan(const AttentionPlan& plan, PlanFormat format, const SourceInfo& source,
                       const std::string& folder);

}  // namespace headgauge
