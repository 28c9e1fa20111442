// A session measures a model on texts: it opens both, takes up what an earlier run had finished,
// and saves the results. The command line and the Python package are clients of it.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/calibrate.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/converge.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/model.hpp"
#include "headgauge/options.hpp"
#include "headgauge/plan.hpp"
#include "headgauge/reproduce.hpp"
#include "headgauge/results.hpp"
#include "headgauge/scan.hpp"
#include "headgauge/texts.hpp"
#include "headgauge/tokenize.hpp"
#include "headgauge/validate.hpp"

namespace headgauge {

// A model of the program's own.
class CustomModel {
 public:
  virtual ~CustomModel() = default;
  virtual ModelSummary summary() const = 0;
  // Opens the model with these documents, which are token ids. Throws as make_model_source() does.
  virtual std::unique_ptr<HeadSource> open(std::vector<Document> documents, XSource x) = 0;
};

class Running;
struct Input;

// What is measured. Copies share the checkpoint, once it is open.
class Model {
 public:
  // Names a checkpoint folder, a .safetensors file beside its config.json, a .gguf file, an entry
  // of the Hugging Face cache, or a dump file. Throws as resolve_model() does.
  explicit Model(std::string name);
  // No model: for analyses that need none.
  Model() = default;
  explicit Model(std::shared_ptr<CustomModel> own);
  // Heads that are there already, such as arrays in memory: they have no texts.
  explicit Model(std::shared_ptr<HeadSource> heads);

  // As it was given; empty for a model of the program's own.
  const std::string& name() const { return name_; }
  bool empty() const { return name_.empty() && own_ == nullptr && heads_ == nullptr; }
  // True if other processes can open the model by its name.
  bool has_name() const { return own_ == nullptr && heads_ == nullptr; }
  // True if the model is a dump or is made of heads, which hold their own queries.
  bool has_own_queries() const;
  // Keeps a checkpoint open: its files may not change from now on.
  void hold();
  // Throws BadInputError if a checkpoint that is held has changed.
  void require_unchanged() const;
  // Adds the SHA-256 sums of a checkpoint that is held to Results::model.
  void describe(Results& results) const;
  // Throws as summarize_model() does; not for a model with its own queries.
  const ModelSummary& summary() const;
  bool has_tokenizer() const;
  // Throws UsageError for a model of the program's own, whose tokenizer the program has.
  Tokenizer tokenizer() const;
  // The folder or file that the tokenizer is read from.
  std::string tokenizer_path() const;
  // Opens a model with its own queries.
  std::shared_ptr<HeadSource> open(const SourceOptions& options) const;
  // Opens the model with these documents. Throws as make_model_source() and require_unchanged() do.
  std::unique_ptr<HeadSource> open(std::vector<Document> documents,
                                   const SourceOptions& options) const;

 private:
  const Checkpoint& checkpoint() const;

  std::string name_;
  std::shared_ptr<CustomModel> own_;
  std::shared_ptr<HeadSource> heads_;
  ResolvedModel resolved_;
  bool is_held_ = false;
  mutable std::shared_ptr<const Checkpoint> checkpoint_;
  mutable std::optional<ModelSummary> summary_;
};

// Follows a run. An exception that it throws ends the run.
class RunObserver : public Progress {
 public:
  void update(std::string_view /*what*/, double /*done*/, double /*total*/) override {}
  // The model and the texts are open, and nothing is measured yet. `source` is null where the run
  // opens them one by one.
  virtual void opened(const HeadSource* /*source*/) {}
  // The run continues one that was stopped, as `line` says: "going on from layer 24 of 30".
  virtual void resumed(const std::string& /*line*/) {}
  // All is measured; what Run::out asks for is saved next.
  virtual void measured() {}
};

// How a run is carried out.
struct Run {
  // The folder that results.json and heads.csv are saved in. The journal of a run is kept there
  // until it ends: the same run finds what was finished when it is started again. Empty: nothing is
  // saved and nothing is kept.
  std::string out = {};
  // Measures this share of the documents alone, for merge(): the journal in `out` holds it, and the
  // results are empty.
  std::optional<Share> shard = {};
  // Folders of all shards of this run: their parts are joined, and nothing is measured again.
  std::vector<std::string> shards = {};
  RunObserver* observer = nullptr;
  std::stop_token stop = {};
};

// The share that is written "I/N". Throws UsageError for anything but 1 <= I <= N.
Share parse_share(const std::string& text);

// Lists the options of a run that have names.
std::vector<Option> options_of(Run& run);

// What the methods of a session take: the options of an analysis, and what it reads besides.

struct ScanRequest {
  ScanOptions options = {};
  std::string plan = {};  // a file: the model runs under this plan (write_plan())
};

struct CompareRequest {
  CompareOptions options = {};
  std::vector<std::string> plans = {};  // files of plans to set against the model as it is
  // Another text, on which the parameter of each normalizer is chosen (fit_interventions()).
  Texts fit = {};
  // Another text, on which what lowers the loss is tried again (confirm_gains()).
  Texts confirm = {};
};

struct ConvergeRequest {
  ConvergeOptions options = {};
  std::string plan = {};  // as in ScanRequest; only heads that it leaves as they are are measured
  CalibrateOptions calibrate = {};  // budgets for rises of the loss, and ...
  Texts confirm = {};               // ... other texts to measure them on
};

struct ValidateRequest {
  ValidateOptions options = {};
};

struct PlanRequest {
  PlanOptions options = {};
  Texts confirm = {};                     // other texts, on which the plan is measured once
  int length = 0;                         // tokens of a piece of text; 0: 1024, or as far as all go
  int pieces = 4;                         // at most so many of each text
  std::vector<std::string> formats = {};  // what the plan is written as besides (plan_format())
};

struct LimitsRequest {
  LimitsOptions options = {};  // `cut` is the session's
};

struct TokensRequest {
  TokensOptions options = {};  // `model` and `folder` are the session's
};

std::vector<Option> options_of(ScanRequest& request);
std::vector<Option> options_of(CompareRequest& request);
std::vector<Option> options_of(ConvergeRequest& request);
std::vector<Option> options_of(ValidateRequest& request);
std::vector<Option> options_of(PlanRequest& request);
std::vector<Option> options_of(LimitsRequest& request);
std::vector<Option> options_of(TokensRequest& request);

// The methods throw as the functions they are named after do, and
//   UsageError for texts that are missing or may not have tokens in common;
//   BadInputError for a text that is too short, and for a journal in Run::out of another run;
//   UnsupportedError where the model lacks what is asked for;
//   ResourceError for a folder that cannot be written.
// A run that is stopped returns, and saves, what was finished, marked as partial.
class Session {
 public:
  explicit Session(Model model, Texts texts = {}, Run run = {});

  Results scan(ScanRequest request = {});
  Results compare(CompareRequest request);
  Results converge(ConvergeRequest request = {});
  Results validate(ValidateRequest request = {});
  // Run::out holds the losses measured until the run ends, and then the plans.
  PlanResults plan(PlanRequest request);
  // Paper A's claims; the page and the figures are drawn in Run::out.
  Results reproduce(LimitsRequest request);
  // Paper B's; without a model the experiments on synthetic tokens alone.
  Results reproduce(TokensRequest request);
  // The same claims as reproduce(LimitsRequest), on the results of a scan: a file, or its folder.
  Results judge_limits(const std::string& results_path);
  // Attention over synthetic tokens; the state of a run that is stopped is kept in Run::out.
  Results simulate(SyntheticOptions options);

  // The session that the shards in these folders were measured in, and their results. Throws as
  // merge() does.
  static Session of_shards(const std::vector<std::string>& folders, Run run = {});
  Results merged();

  // The files that the last run wrote in Run::out besides results.json and heads.csv.
  const std::vector<std::string>& written() const { return written_; }
  // What was said of the files: not in the results, which were written before.
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  Running begin();
  Input input(const std::string& name) const;

  Model model_;
  Texts texts_;
  Run run_;
  std::shared_ptr<Journal> merged_;  // of shards; null: none are merged
  std::vector<std::string> written_, remarks_;
};

// Joins the shards that runs with Run::shard left in these folders: the same results, bit for bit,
// as one run. The model and the texts must be where they were. Throws BadInputError for a shard
// that is missing, not finished, there twice or of another run.
Results merge(const std::vector<std::string>& folders, Run run = {});

// Writes a plan that is there already, in a file, for other tools (Session::plan()). Throws as
// export_plan() and read_plan() do, BadInputError for a plan of another model.
PlanExport export_plan(const Model& model, const std::string& plan_file,
                       const std::vector<std::string>& formats, const std::string& folder);

// diff() of two results, what changed, and what limits say of it.
struct DiffRequest {
  DiffOptions options = {};
  double level = kFalseDiscoveries;
  std::string limits = {};  // a file (read_limits()); empty: none
};
std::vector<Option> options_of(DiffRequest& request);

struct DiffResults {
  Results results;
  std::vector<Limit> limits;
  std::vector<LimitCheck> checks;  // of the limits, in their order
  bool exceeded() const;
};
// Throws as diff(), read_limits() and check_limits() do.
DiffResults diff(const Results& before, const Results& after, const DiffRequest& request);

// Says why a run returned partial results, what was finished and where it is saved: one line; empty
// for results that are whole.
std::string interruption(const Results& results, const Run& run);

// The message with the names of options as they are typed: "MeasureOptions::top_n" is "--top-n".
std::string with_option_names(std::string message);
// The same in all that results say, with the commands that they advise.
void use_option_names(Results& results);

}  // namespace headgauge
