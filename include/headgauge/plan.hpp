// Changes a model's attention head by head, and measures the effect on the loss on text that was
// not used to choose the changes (docs/plan.md).
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/attention_plan.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/options.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

class Checkpoint;

struct PlanOptions {
  // The largest allowed share of the key-value cache; absent, unless `allow` is given: what is left
  // if the layers that are changed keep half.
  std::optional<double> memory;
  // The largest allowed rise of the loss of text in nats: the plan is the smallest share of the
  // cache whose rise is shown to be less.
  std::optional<double> allow;
  // The same for the loss of replayed tokens, and of the answers of each task; absent: as `allow`.
  std::optional<double> allow_replay;
  std::optional<double> allow_answers;
  // Cache shares of the plans that form the curve of loss against cache. Those of the default are
  // shares of the layers that are changed; those that no choice reaches are left out.
  std::vector<double> curve = {0.75, 0.5, 0.25};
  // The choices for a head besides full attention. Empty patterns: 4 sinks and a recent window,
  // with as many keys in total as the shares of the curve, 1/16 and 1/64 of the context allow, but
  // at least 16. Empty normalizers: "uniform".
  std::vector<std::string> patterns;
  std::vector<std::string> normalizers;
  // The layers that are changed, as ScanOptions::layers; empty: those without a window of the
  // model's own that is shorter than the pieces.
  std::string layers;
  // All key-value heads of a layer are changed alike, for engines that cannot tell them apart.
  bool whole_layers = false;
  int steps = 200;        // of the search, for each share of the cache
  int random_plans = 20;  // random assignments of the plan's entries to other heads
  int threads = 0;
  std::uint64_t seed = 0;
  JournalRef journal = no_journal();  // stores and finds measured losses
};

std::vector<Option> options_of(PlanOptions& options);

// The first tokens of a replay are read and not judged: nothing tells the model that it begins.
inline constexpr Index kReplayCue = 8;

// The documents that plans are judged on.
struct PlanDocuments {
  PlanDocuments(HeadSource& of_texts, HeadSource* of_cases = nullptr, Index tokens_replayed = 0)
      : texts(of_texts), cases(of_cases), replayed(tokens_replayed) {}
  HeadSource& texts;  // pieces of text
  HeadSource* cases;  // cases of tasks; null: none
  Index replayed;     // the last tokens of each piece, which repeat its first; 0: none
};

// The documents of a plan. All pieces of text have the same number of tokens.
struct PlanTexts {
  PlanDocuments search;   // the search tries its changes on these
  PlanDocuments check;    // these select among the plans that the search found
  PlanDocuments confirm;  // plans are measured on these once, at the end
  // The cases of check and confirm, with their controls, to test whether the model does the tasks;
  // null: there are no cases.
  HeadSource* cases = nullptr;
};

// A plan made for a budget.
struct MadePlan {
  std::string budget;  // its label in the results: "50 %", "lowest loss", "rise of 0.01"
  AttentionPlan plan;
};

// What a plan was written as for other tools.
struct PlanExport {
  std::vector<std::string> files;    // their paths
  std::vector<std::string> notices;  // what the format says otherwise than the plan
};

struct PlanResults {
  Results results;
  std::vector<MadePlan> plans;  // the plan that was asked for first
};

// Searches for plans by their joint cost: the rises of the loss of text, of the replay and of the
// answers of each task (docs/mathematics.md 7e, 7f). Gates mix the outputs of each head's choices,
// and move by the gradient of the cost, at a price of keys that holds the share. The check chooses
// between what they prefer and equal windows.
//
// On `confirm` the plans are compared with others of the same size: equal windows with sinks, one
// choice for each layer, the plan's entries assigned to other heads, and the heaviest keys. The
// results have dims layer, head, method, budget, document and draw (catalogue/17-plan.json).
//
// Deterministic on any number of threads. When `stop` is requested, the journal keeps what was
// measured, and the results are partial and empty; the same call continues from there. Throws
// UsageError for invalid options; BadInputError for documents of different lengths;
// UnsupportedError for a source that is not a model with a loss, and, by name, for a choice without
// a derivative.
PlanResults make_plan(const PlanTexts& texts, const PlanOptions& options,
                      Progress* progress = nullptr, std::stop_token stop = {});

// Describes the findings, the one to act on first.
std::vector<SummaryLine> summarize_plan(const Results& results);

// What a plan is written as for other tools (docs/plan.md).
enum class PlanFormat {
  hf,         // a folder that transformers loads, with modeling_headgauge.py, which serves the plan
  hf_layers,  // the same for plans of whole layers, served by transformers itself
};

// The format of a name. UsageError, which lists the names and calls itself `option`, for one that
// is not known.
PlanFormat plan_format(const std::string& name, const std::string& option = "PlanFormat");
// "hf, hf-layers".
std::string plan_format_names();

// What a format cannot say of heads that attend so; empty: it can.
std::string not_exported(const HeadPlan& head, PlanFormat format);

// Leaves to a search only what all of the formats can say: UsageError for a pattern or a normalizer
// of the options that one cannot, and no normalizers where the options leave them open. For a
// format of whole layers, the search is by layer, with one size of window: an eighth of the context
// where the options leave it open. Returns notices of what is not tried.
std::vector<std::string> keep_exportable(PlanOptions& options,
                                         const std::vector<PlanFormat>& formats,
                                         const SourceInfo& source);

// Throws UnsupportedError for a model that one of the formats cannot serve, whatever the plan. They
// need the checkpoint of the model. Throws UsageError, which names the file, if a
// folder of theirs in `folder` (empty: none) is not as an export wrote it.
void require_exportable(const std::vector<PlanFormat>& formats, const SourceInfo& source,
                        const Checkpoint* checkpoint, const std::string& folder);

// Writes a plan for another tool, into a folder of its name in `folder`, which is made if need be.
// The folder of an earlier export is replaced whole at the end, or stays as it was. Throws as
// require_exportable() does, and UsageError for the model's own folder; UnsupportedError, which
// names the first head, if the format cannot say what it does; ResourceError for files that cannot
// be written; InterruptedError if `stop` is requested. The formats need the checkpoint.
PlanExport export_plan(const AttentionPlan& plan, PlanFormat format, const SourceInfo& source,
                       const std::string& folder, const Checkpoint* checkpoint = nullptr,
                       const std::stop_token& stop = {});

}  // namespace headgauge
