// `reproduce tokens`: runs paper B's experiments one after the other, and keeps each when it is
// finished.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "convergence/resolved_simulation.hpp"
#include "experiments/stages.hpp"
#include "headgauge/claims.hpp"
#include "headgauge/files.hpp"
#include "headgauge/kernels.hpp"
#include "headgauge/reproduce.hpp"
#include "headgauge/results_folder.hpp"
#include "reproduce/experiments.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kPaperContext = 512;
// Settings that do not affect the numbers.
constexpr std::array kIdle = {"threads", "full", "out", "json", "quiet", "text", "tokens", "top"};

Json without_idle(Json settings) {
  for (const char* key : kIdle) settings.erase(key);
  return settings;
}

// The folder with the results of one finished experiment and their checksum.
class Kept {
 public:
  Kept(const std::string& folder, const std::string& name) {
    if (folder.empty()) return;
    path_ = fs::path(folder) / name;
    made_.emplace(path_.string(), "choose another TokensOptions::folder");
  }

  // Returns finished results of the same identity, which is everything that the numbers depend on.
  template <class Same>
  std::optional<Results> found(const Same& same) const {
    std::error_code none;  // an unreadable file is reported when it is opened
    if (path_.empty() || !fs::exists(file(), none)) return std::nullopt;
    const std::string text = read_file(file(), kLargestResults);
    const std::string sums = (path_ / kSumFile).string();
    const bool sealed = fs::exists(sums, none);
    if (sealed && read_file(sums) != sum_of(text)) refuse("others, which were changed or damaged");
    Results results;
    try {
      results = parse_results(text, file());
    } catch (const BadInputError&) {
      refuse("something else");
    }
    if (!sealed) return std::nullopt;
    if (results.partial || !same(results)) return std::nullopt;
    return results;
  }
  void save(const Results& results) const {
    if (path_.empty() || results.partial) return;
    AtomicFiles files(path_.string());
    add_results(results, files);
    files.add(kSumFile).write(sum_of(results_text(results)));
    files.commit();
  }

 private:
  static constexpr const char* kSumFile = "results.json.sha256";

  // Returns the line that sha256sum writes of the file.
  static std::string sum_of(const std::string& text) {
    return fmt::format("{}  {}\n", text_sha256(text), kResultsFile);
  }
  [[noreturn]] void refuse(const std::string& found) const {
    throw DamagedPartError(fault(file(), "the results as they were saved", found,
                                 "delete " + file() + " to start again"));
  }
  std::string file() const { return (path_ / kResultsFile).string(); }

  fs::path path_;
  std::optional<MadeFolder> made_;
};

const std::vector<double> kHorizonsOfAtoms = {0.1, 0.25, 0.5, 1};  // others have the paper's scales

SyntheticOptions synthetic_options(const TokensOptions& options, const OfTokens& of) {
  SyntheticOptions synthetic;
  synthetic.tokens = of.tokens;
  synthetic.radius = of.radius;
  if (synthetic.tokens == "atoms") synthetic.horizons = kHorizonsOfAtoms;
  synthetic.dimension = options.dimension;
  synthetic.grid = options.grid;
  synthetic.replicates = options.replicates;
  synthetic.radii = options.radii;
  synthetic.full = options.full;
  synthetic.seed = options.seed;
  synthetic.threads = options.threads;
  synthetic.journal = options.journal;
  return synthetic;
}

// Returns the context length that paper, model and text allow.
int context_of(const TokensOptions& options, const SourceInfo& info) {
  if (options.length > 0) return options.length;
  const Index longest = info.documents.empty() ? 0 : *std::ranges::max_element(info.documents);
  const Index most = info.max_length > 0 ? info.max_length : info.trained_length;
  Index length = std::min<Index>(longest, kPaperContext);
  if (most > 0) length = std::min(length, most);
  return static_cast<int>(std::max<Index>(length, 1));
}

ConvergeOptions converge_options(const TokensOptions& options, const SourceInfo& info) {
  ConvergeOptions converge;
  converge.scan.lengths = {context_of(options, info)};
  converge.scan.measures = {"weights"};
  converge.scan.threads = options.threads;
  converge.scan.seed = options.seed;
  converge.scan.journal = options.journal;
  if (options.replicates > 0) converge.replicates = options.replicates;
  return converge;
}

// Returns whether an experiment was run with these settings, ignoring those that do not affect the
// numbers.
bool same_settings(const Results& old, const Json& wanted) {
  return std::ranges::all_of(wanted.items(), [&](const auto& setting) {
    return old.settings.contains(setting.key()) && old.settings[setting.key()] == setting.value();
  });
}

class Tokens {
 public:
  Tokens(const TokensOptions& options, Progress* progress, std::stop_token stop)
      : options_(options),
        stages_(progress, static_cast<int>(kOfTokens.size()) + (options.model ? 3 : 0)),
        stop_(std::move(stop)) {
    // Reports problems with the model before hours of simulation.
    if (options_.model) source_ = options_.model();
    if (source_ != nullptr) check_context();
    if (!options_.folder.empty())
      folder_.emplace(options_.folder, "choose another TokensOptions::folder");
  }

  Results run() {
    for (const OfTokens& tokens : kOfTokens) run_synthetic(tokens);
    if (source_ != nullptr) {
      run_model();
      run_comparison("all_heads", all_heads_options(length_, scan_of_model()), by_random_keys);
      run_comparison("each_head", each_head_options(length_, scan_of_model()), by_head);
    }
    whole_.command = Command::reproduce_tokens;
    whole_.settings["experiment"] = "tokens";
    TokensOptions written = options_;
    written.length = length_;
    write_settings(options_of(written), whole_.settings);
    if (!whole_.partial) whole_.claims = tokens_claims(whole_);
    return std::move(whole_);
  }

 private:
  void check_context() const {
    const SourceInfo& info = source_->info();
    const int length = context_of(options_, info);
    const auto refusal = [&](Index limit, const char* least_or_most, const char* advice) {
      return fault("TokensOptions::length", fmt::format("at {} {} tokens", least_or_most, limit),
                   std::to_string(length), advice);
    };
    if (length < kShortestContext) {
      throw BadInputError(refusal(kShortestContext, "least", "give a longer text or context"));
    }
    if (info.max_length > 0 && length > info.max_length) {
      throw BadInputError(refusal(info.max_length, "most", "the model has no more positions"));
    }
  }

  void run_synthetic(const OfTokens& of) {
    const std::string tokens = of.name;
    stages_.begin(stage_++, tokens);
    if (whole_.partial) return;
    SyntheticOptions options = synthetic_options(options_, of);
    const Kept kept(options_.folder, tokens);
    const ResolvedSimulation plan = resolve_simulation(options);
    auto found = kept.found([&](const Results& old) {
      Json settings = without_idle(old.settings);
      settings.erase("reference_method");  // known only after the run
      return settings == without_idle(plan.settings()) && same_tool(old);
    });
    const Journal::Stage stage(options_.journal, tokens);
    Results results = found ? std::move(*found) : simulate(options, &stages_, stop_);
    if (!found) kept.save(results);
    add(results, tokens);
  }

  void run_model() {
    stages_.begin(stage_++, "model");
    if (whole_.partial) return;
    const ConvergeOptions options = converge_options(options_, source_->info());
    length_ = options.scan.lengths.front();
    const Kept kept(options_.folder, "model");
    auto found = kept.found([&](const Results& old) {
      return same_model_and_tool(old) &&
             same_settings(old, {{"lengths", options.scan.lengths},
                                 {"measures", options.scan.measures},
                                 {"replicates", options.replicates},
                                 {"draws", options.draws},
                                 {"tolerances", options.tolerances},
                                 {"points", options.points},
                                 {"seed", options.scan.seed},
                                 {"normalizer", options.scan.normalizer},
                                 {"layers", "all"},
                                 {"heads", "all"}});
    });
    const Journal::Stage stage(options_.journal, "model");
    Results results = found ? std::move(*found) : converge(*source_, options, &stages_, stop_);
    if (!found) kept.save(results);
    add(results, "model");
    whole_.model = results.model;
    whole_.text = results.text;
    whole_.layers_done = results.layers_done;
    whole_.set_coord("length", results.require_coord("length").labels());  // for heads.csv
    for (const Flag& flag : results.flags) {
      if (flag.name == "slow") whole_.flags.push_back(flag);
    }
  }

  ScanOptions scan_of_model() const {
    ScanOptions scan;
    scan.threads = options_.threads;
    scan.seed = options_.seed;
    scan.journal = options_.journal;
    return scan;
  }

  // Runs the model with other keys for its heads, if it has next-token predictions.
  void run_comparison(const std::string& name, const CompareOptions& options,
                      Results (*arranged)(const Results&)) {
    stages_.begin(stage_++, name);
    if (whole_.partial || !source_->info().has_loss) return;
    const Kept kept(options_.folder, name);
    auto found = kept.found([&](const Results& old) {
      return same_model_and_tool(old) && same_settings(old, {{"lengths", options.scan.lengths},
                                                             {"pattern", options.patterns},
                                                             {"seed", options.scan.seed},
                                                             {"layers", "all"},
                                                             {"heads", "all"}});
    });
    const Journal::Stage stage(options_.journal, name);
    const auto run = [&] {
      CompareOptions of_paper = options;
      of_paper.patterns.clear();  // on a short text the largest drops no key
      return compare(*source_, of_paper, make_interventions(options, source_->info()), &stages_,
                     stop_);
    };
    const Results results = found ? std::move(*found) : run();
    if (!found) kept.save(results);
    whole_.partial = results.partial;
    if (!results.partial) add(arranged(results), name);
  }

  // Returns whether model, text, version and SIMD level (each level rounds differently) are the
  // same.
  bool same_model_and_tool(const Results& old) const {
    Results described;
    source_->describe(described);
    return of_same_model(old, described) && same_tool(old);
  }

  static bool same_tool(const Results& old) {
    return old.tool.version == HEADGAUGE_VERSION && old.tool.simd == simd_level();
  }

  static bool of_same_model(const Results& old, const Results& described) {
    const Json known = to_json(old.model), wanted = to_json(described.model);
    for (const auto& [key, value] : wanted.items()) {
      if (key != "name" && (!known.contains(key) || known[key] != value)) return false;
    }
    TextRecord text = old.text;
    text.sinks.reset();  // measured, not described
    // Compares as JSON text, because names may not be UTF-8.
    return json_text(to_json(text)) == json_text(to_json(described.text));
  }

  void add(const Results& results, const std::string& name) {
    if (whole_.tool == ToolRecord{}) {
      whole_.tool = results.tool;
      whole_.model = results.model;
      whole_.model.name = "random tokens";
    }
    whole_.partial = results.partial;
    add_experiment(results, name, whole_);
  }

  const TokensOptions& options_;
  StageProgress stages_;
  std::stop_token stop_;
  std::shared_ptr<HeadSource> source_;
  std::optional<MadeFolder> folder_;
  Results whole_;
  int stage_ = 0;
  int length_ = 0;  // 0: no model
};

}  // namespace

Results reproduce_tokens(const TokensOptions& options, Progress* progress, std::stop_token stop) {
  return Tokens(options, progress, std::move(stop)).run();
}

}  // namespace headgauge
