// A session measures a model on texts: it opens both, resumes an interrupted run, and saves the
// results. The command line and the Python package use it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/checkpoint.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/generators.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/model.hpp"
#include "headgauge/options.hpp"
#include "headgauge/plan.hpp"
#include "headgauge/reproduce.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"
#include "headgauge/series.hpp"
#include "headgauge/texts.hpp"
#include "headgauge/tokenize.hpp"
#include "headgauge/validate.hpp"

namespace headgauge {

// A model that the calling program provides.
class CustomModel {
 public:
  virtual ~CustomModel() = default;
  virtual ModelSummary summary() const = 0;
  // Opens the model with these documents, which are token ids. Throws as make_model_source() does.
  virtual std::unique_ptr<HeadSource> open(std::vector<Document> documents, XSource x) = 0;
};

class Running;
struct Input;

// The model that a session measures. Copies share the checkpoint, once it is open.
class Model {
 public:
  // Names a checkpoint folder, a .safetensors file with config.json in the same folder, a .gguf
  // file, an entry of the Hugging Face cache, or a dump file. Throws as resolve_model() does.
  explicit Model(std::string name);
  // No model, for analyses that need none.
  Model() = default;
  explicit Model(std::shared_ptr<CustomModel> own);
  // Heads that exist already, such as arrays in memory: they have no texts.
  explicit Model(std::shared_ptr<HeadSource> heads);

  // Returns the name as given; empty for a CustomModel.
  const std::string& name() const { return name_; }
  bool empty() const { return name_.empty() && own_ == nullptr && heads_ == nullptr; }
  // True if other processes can open the model by its name.
  bool has_name() const { return own_ == nullptr && heads_ == nullptr; }
  // True if the model is a dump or is made of heads, which have their own queries.
  bool has_own_queries() const;
  // Keeps a checkpoint open: its files must not change from now on.
  void hold();
  // Throws BadInputError if a held checkpoint has changed.
  void require_unchanged() const;
  // Adds the SHA-256 sums of a held checkpoint to Results::model.
  void describe(Results& results) const;
  // Returns the sizes of the model, which must not have its own queries. Throws as
  // summarize_model() does.
  const ModelSummary& summary() const;
  // Returns the files of a model that has a name and is no dump.
  const Checkpoint& checkpoint() const;
  bool has_tokenizer() const;
  // Throws UsageError for a CustomModel: the program has its tokenizer.
  Tokenizer tokenizer() const;
  // Returns the notice of a tokenizer that was read (Tokenizer::notice()).
  const std::string& tokenizer_notice() const { return *tokenizer_notice_; }
  // Returns the files and folders that a model with a name is read from.
  std::vector<std::string> files() const;
  // Returns the folder or file that the tokenizer is read from.
  std::string tokenizer_path() const;
  // Opens a model with its own queries.
  std::shared_ptr<HeadSource> open(const SourceOptions& options) const;
  // Opens the model with these documents. Throws as make_model_source() and require_unchanged() do.
  std::unique_ptr<HeadSource> open(std::vector<Document> documents,
                                   const SourceOptions& options) const;

 private:
  std::string name_;
  std::shared_ptr<CustomModel> own_;
  std::shared_ptr<HeadSource> heads_;
  ResolvedModel resolved_;
  bool is_held_ = false;
  mutable std::shared_ptr<const Checkpoint> checkpoint_;
  mutable std::optional<ModelSummary> summary_;
  std::shared_ptr<std::string> tokenizer_notice_ = std::make_shared<std::string>();
};

// Observes a run. An exception that it throws ends the run.
class RunObserver : public Progress {
 public:
  void update(std::string_view /*what*/, double /*done*/, double /*total*/) override {}
  // Called when the model and the texts are open, before anything is measured. `source` is null if
  // the run opens them one by one.
  virtual void opened(const HeadSource* /*source*/) {}
  // Called if the run resumes an interrupted one. Example of `line`: "resuming from layer 24 of
  // 30". `done`: the share of its layers that is finished, 0 if that is not known.
  virtual void resumed(const std::string& /*line*/, double /*done*/) {}
  // Called after the last measurement, before the files of Run::out are saved.
  virtual void measured() {}
};

// How a run is carried out.
struct Run {
  // The folder for results.json and heads.csv. The run keeps its journal there until it ends, so
  // that the same run can resume (reproduce limits, which has none, begins again). Empty: nothing
  // is saved.
  std::string out = {};
  // Replaces finished results of another request in that folder. Without it they are refused,
  // before anything is measured; the same request may be run again.
  bool force = false;
  // Measures only this share of the documents, for merge(): the parts are in the journal in `out`,
  // and the results are empty.
  std::optional<Share> shard = {};
  // Folders of all shards of this run: their parts are joined, and nothing is measured again.
  std::vector<std::string> shards = {};
  RunObserver* observer = nullptr;
  std::stop_token stop = {};
};

// Parses "I/N". Throws UsageError unless 1 <= I <= N.
Share parse_share(const std::string& text);

// Tasks (docs/tasks.md), whose cases the model answers beside the texts, or without texts.
struct TaskFiles {
  std::vector<std::string> files = {};
  // Names of tasks (task_infos()) whose cases the run generates, as long as its longest context and
  // with its texts as haystack.
  std::vector<std::string> probes = {};
  // Maximum number of cases of each file, evenly spaced over it (0: 50), and number of cases of
  // each probe (0: 16).
  int cases = 0;
  bool empty() const { return files.empty() && probes.empty(); }
};

// Arguments of the methods of a session: the options of an analysis, and its further inputs.

struct ScanRequest {
  ScanOptions options = {};
  std::string plan = {};  // a plan file (write_plan()) that the model runs under
  TaskFiles tasks = {};
};

struct CompareRequest {
  CompareOptions options = {};  // without `measures`: the loss and the answers, if there are any
  // Sizes of caches that keep the first 4 tokens and the latest ones, in tokens, beside the
  // patterns of the options; {"auto"}: six. Where the options have no lengths, the texts are two to
  // four times as long as the largest, as far as the model and the texts go.
  std::vector<std::string> windows = {};
  std::vector<std::string> plans = {};  // plan files to compare with the unchanged model
  // Another text, on which interventions that lower the loss are measured again (confirm_gains()).
  Texts confirm = {};
  // A comparison of patterns that names no task asks for 32 pass keys if the model has a tokenizer.
  // The probe "none" asks for nothing.
  TaskFiles tasks = {};
};

struct ConvergeRequest {
  ConvergeOptions options = {};
  std::string plan = {};  // as in ScanRequest; only heads without a change are measured
};

struct ValidateRequest {
  ValidateOptions options = {};
  TaskFiles tasks = {};
};

struct PlanRequest {
  PlanOptions options = {};
  Texts confirm = {};  // other texts, on which the plan is measured once
  int length = 0;      // tokens of a piece of text; 0: 1024, or the shortest text's length
  // The check has this many pieces for each text, and at most half of all; the search has others,
  // as many as steps need. Maximum number of pieces of each text of `confirm`.
  int pieces = 4;
  // Tokens at the end of each piece that repeat its first, to judge copying; 0: none. Pieces of
  // fewer than six times as many have none.
  int replay = 64;
  // The most cases of each task in the check, which has at most half; the search has the others.
  TaskFiles tasks = {.cases = 8};
  TaskFiles confirm_tasks = {};           // other task files, on which the plan is measured once
  std::vector<std::string> formats = {};  // additional formats of the plan (plan_format())
};

struct LimitsRequest {
  LimitsOptions options = {};  // the session sets `cut`, `answers` and `cases`
  TaskFiles tasks = {};
};

struct TokensRequest {
  TokensOptions options = {};  // the session sets `model` and `folder`
};

std::vector<Option> options_of(ScanRequest& request);
std::vector<Option> options_of(CompareRequest& request);
std::vector<Option> options_of(ConvergeRequest& request);
std::vector<Option> options_of(ValidateRequest& request);
std::vector<Option> options_of(PlanRequest& request);
std::vector<Option> options_of(LimitsRequest& request);
std::vector<Option> options_of(TokensRequest& request);

// Each method throws as the function of the same name, and
//   UsageError for missing texts, for texts that must be separate but share tokens, and if Run::out
//     has finished results of another request (see Run::force);
//   BadInputError for a text that is too short, and if Run::out has the journal of another run;
//   UnsupportedError if the model lacks what the analysis needs;
//   ResourceError if the folder cannot be written.
// A stopped run saves and returns what was finished, with Results::partial set.
class Session {
 public:
  explicit Session(Model model, Texts texts = {}, Run run = {});

  Results scan(ScanRequest request = {});
  Results compare(CompareRequest request);
  Results converge(ConvergeRequest request = {});
  Results validate(ValidateRequest request = {});
  // Run::out has the measured losses until the run ends, then the plans.
  PlanResults plan(PlanRequest request);
  // Judges paper A's claims; draws the page and the figures in Run::out.
  Results reproduce(LimitsRequest request);
  // Judges paper B's claims; without a model only the experiments on synthetic tokens.
  Results reproduce(TokensRequest request);
  // Judges the claims of reproduce(LimitsRequest) on the results of a scan: a file, or its folder.
  Results judge_limits(const std::string& results_path);
  // Measures attention over synthetic tokens; Run::out keeps the state of a stopped run.
  Results simulate(SyntheticOptions options);

  // Restores the session whose shards are in these folders; merged() returns their results. Throws
  // as merge() does.
  static Session of_shards(const std::vector<std::string>& folders, Run run = {});
  Results merged();

  // Returns the files that the last run wrote in Run::out in addition to results.json and
  // heads.csv.
  const std::vector<std::string>& written() const { return written_; }
  // Returns remarks on those files, which results.json cannot contain because it was written
  // before.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  Running begin();
  Input input(const std::string& name) const;

  Model model_;
  Texts texts_;
  Run run_;
  std::shared_ptr<Journal> merged_;  // the joined shards; null: none
  std::vector<std::string> written_, remarks_;
};

// Joins the shards that runs with Run::shard left in these folders; the results are bit for bit
// those of one run. The model and the texts must still exist at their paths. Throws BadInputError
// for a shard that is missing, unfinished, duplicated or of another run.
Results merge(const std::vector<std::string>& folders, Run run = {});

// Writes an existing plan file for other tools (see Session::plan()). Throws as export_plan() and
// read_plan() do; BadInputError for a plan of another model.
PlanExport export_plan(const Model& model, const std::string& plan_file,
                       const std::vector<std::string>& formats, const std::string& folder,
                       const std::stop_token& stop = {});

// Writes generated cases of a task (make_task_cases()) in the tokens of a model to a task file.
// Throws as make_task_cases() and TaskWriter do; UsageError for a length beyond the model's
// context, UnsupportedError for a model that is not causal.
void write_task(const Model& model, const TaskOptions& options, const std::string& path,
                const std::stop_token& stop = {});

// Options of diff() between two results, the level for listing changes, and limits to check.
struct DiffRequest {
  DiffOptions options = {};
  double level = kFalseDiscoveries;
  std::string limits = {};  // a file (see read_limits()); empty: none
};
std::vector<Option> options_of(DiffRequest& request);

struct DiffResults {
  Results results;
  std::vector<Limit> limits;
  std::vector<LimitCheck> checks;     // one for each limit, in the same order
  std::vector<std::string> exceeded;  // a sentence for each limit that is exceeded
};
// Throws as diff(), read_limits() and check_limits() do.
DiffResults diff(std::span<const Results> before, std::span<const Results> after,
                 const DiffRequest& request);

// Joins runs as series() does, with the settings of the options. Throws as series() does.
Results joined(std::span<const std::vector<Results>> runs, std::span<const std::string> names,
               SeriesOptions options);

// Says in one line why the results are partial, what was finished and where it is saved; empty for
// complete results.
std::string interruption(const Results& results, const Run& run);

// Replaces member names by the option names of the command line: "MeasureOptions::top_n" becomes
// "--top-n".
std::string with_option_names(std::string message);
// The same in all sentences of the results, and in the commands that they recommend.
void use_option_names(Results& results);

}  // namespace headgauge
