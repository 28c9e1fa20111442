// `reproduce limits`: runs one scan with paper A's settings, and times its algorithms.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "experiments/stages.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/claims.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/reproduce.hpp"
#include "headgauge/text.hpp"
#include "reproduce/early_warning.hpp"
#include "reproduce/places.hpp"
#include "reproduce/retrieval.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

constexpr int kPaperLength = 1024;
// The sizes of Fig. 2b, and additional ones for Fig. 3.
const std::vector<int> kSizes = {1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100};
const std::vector<int> kPaperSizes = {1, 5, 10, 20, 100};
constexpr int kFixedSize = 5;
constexpr int kJudgedSize = 20;
// Shares of the keys: N in proportion to L, paper A's main claim.
const std::vector<double> kShares = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5};
constexpr double kSearched = 0.125;  // share of L: twice the claimed one

// Times from Table 1: Apple M1 Pro with 10 cores, GPT-2 with 124 M parameters.
struct Algorithm {
  const char* name;
  const char* group;
  double paper_seconds;
};
constexpr std::array<Algorithm, 5> kAlgorithms = {{{"growing L", "distance", 24 * 60},
                                                   {"growing N", "distance", 37 * 60},
                                                   {"critical N", "distance", 17 * 3600 + 4 * 60},
                                                   {"separability", "separability", 7 * 60},
                                                   {"sensitivity", "sensitivity", 60}}};

ScanOptions settings_of(const LimitsOptions& options) {
  ScanOptions scan;
  scan.lengths = options.lengths;
  scan.x = options.x;
  scan.threads = options.threads;
  scan.seed = options.seed;
  scan.examples = 0;
  scan.measure.top_n = kSizes;
  scan.measure.top_share = kShares;
  return scan;
}

// Returns the algorithm's settings in the paper; `scan` must be resolved.
ScanOptions settings_of(const Algorithm& algorithm, ScanOptions scan) {
  const std::string_view name = algorithm.name;
  scan.measures = {algorithm.group};
  if (name != "critical N") scan.measure.critical_max = 1;
  if (name == "growing L") {
    scan.measure.top_n = {kFixedSize};
    return scan;
  }
  scan.lengths = {scan.lengths.back()};
  if (name == "growing N") scan.measure.top_n = kPaperSizes;
  if (name == "critical N") scan.measure.top_n = {1};
  return scan;
}

// Adds the heads at the temperature that the paper advises against, at the longest length; `scan`
// must be resolved.
void add_cold(HeadSource& source, ScanOptions scan_options, Results& results, Progress* progress,
              const std::stop_token& stop) {
  scan_options.lengths = {scan_options.lengths.back()};
  scan_options.measures = {"sensitivity"};
  if (source.info().has_x) scan_options.measures.emplace_back("separability");
  scan_options.normalizer = "softmax:t=0.1";
  scan_options.measure.top_n = {kJudgedSize};
  scan_options.measure.temperatures = {1};
  scan_options.measure.epsilons = {1e-3};
  const Results cold = scan(source, scan_options, progress, stop);
  if (cold.partial) return;
  const auto take = [&](const char* name, const char* metric) {
    LabelledArray& taken = add_declared(results, name);
    for (const HeadName& head : measured_heads(cold)) {
      const auto cell = find_cell(
          cold, metric, {{"layer", head.layer_index}, {"head", head.head_index}, {"top_n", 0}});
      if (cell) taken({head.layer_index, head.head_index}) = cell->value;
    }
  };
  take(metric::cold_jacobian, metric::jacobian_spectral);
  take(metric::cold_separability, metric::separability_excess_beyond_sinks);
}

bool same_as_paper(const Results& results) {
  const ModelRecord& model = results.model;
  return model.family == "gpt2" && model.layers == 12 && model.heads == 12 && model.width == 768;
}

void add_costs(const std::vector<double>& seconds, Results& results) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : kAlgorithms) names.emplace_back(algorithm.name);
  results.set_coord("algorithm", names);
  LabelledArray& cost = add_declared(results, metric::cost_seconds);
  LabelledArray& paper = add_declared(results, metric::cost_paper_seconds);
  for (std::size_t i = 0; i < kAlgorithms.size(); ++i) {
    cost.values[i] = seconds[i];
    paper.values[i] = kAlgorithms[i].paper_seconds;
  }
  results.notices.push_back(fmt::format(
      "costs: the paper's are of GPT-2 (124 M) on an Apple M1 Pro of 10 cores; {}, and each "
      "algorithm was run by itself, forward pass included",
      same_as_paper(results) ? "this machine is another"
                             : "this model and this machine are others"));
}

// Measures what claims turn with: the other places, spread over the text if it is long enough, and
// all places without the sinks.
// `scan_options` must be resolved, and `beginning` be the results of the text's beginning.
Places measure_places(HeadSource& source, const ScanOptions& scan_options,
                      const LimitsOptions& options, const Results& beginning, StageProgress& stages,
                      const std::stop_token& stop) {
  ScanOptions with = scan_options, beyond = scan_options;
  with.measures = {"weights", "sensitivity"};
  beyond.measures = {};
  if (source.info().has_x) beyond.measures = {"distance", "separability", "coverage", "proportion"};
  with.measures.insert(with.measures.end(), beyond.measures.begin(), beyond.measures.end());
  beyond.measure.beyond_sinks = true;
  Places places{.with = {beginning}, .beyond = {}};
  const TextPieces pieces = options.cut ? options.cut(scan_options.lengths.back()) : TextPieces{};
  const std::size_t count = pieces.count >= kPlaces ? kPlaces : 1;
  for (std::size_t place = 0; place < count && !stop.stop_requested(); ++place) {
    const auto other = place > 0 ? pieces.open(place * pieces.count / kPlaces) : nullptr;
    HeadSource& at = other ? *other : source;
    stages.begin(4 + static_cast<int>(kAlgorithms.size() + place),
                 fmt::format("place {} of {}", place + 1, count));
    if (other) {
      places.with.push_back(scan(at, with, &stages, stop));
      add_cold(at, with, places.with.back(), &stages, stop);
    }
    if (!beyond.measures.empty()) places.beyond.push_back(scan(at, beyond, &stages, stop));
  }
  return places;
}

void tell_what_is_missing(Results& results) {
  const auto lengths = results.coord_numbers("length");
  if (lengths.back() < kPaperLength) {
    results.notices.push_back(
        fmt::format("the paper's contexts go to {}; model or text end at {}, and so do the figures",
                    kPaperLength, lengths.back()));
  }
}

constexpr const char* kExperiment = "limits";

}  // namespace

Results judge_limits(Results scanned, const std::string& name) {
  const bool known =
      scanned.command == Command::scan || scanned.command == Command::reproduce_limits;
  if (!known || scanned.partial) {
    const std::string found =
        known ? "those of one that was interrupted"
              : fmt::format("those of {}", in_quotes(command_text(scanned.command)));
    throw BadInputError(
        fault(name, "the results of a finished scan", found, "run `headgauge scan` to its end"));
  }
  scanned.command = Command::reproduce_limits;
  scanned.settings["experiment"] = kExperiment;
  // A whole run has its claims, judged at all places.
  if (scanned.claims.empty()) scanned.claims = judge_at({.with = {scanned}, .beyond = {}});
  return scanned;
}

Results reproduce_limits(HeadSource& source, const LimitsOptions& options, Progress* progress,
                         std::stop_token stop) {
  ScanOptions whole = settings_of(options);
  if (!whole.lengths.empty()) {
    const int longest = std::ranges::max(whole.lengths);
    whole.measure.critical_max =
        std::max(whole.measure.critical_max, static_cast<int>(kSearched * longest));
  }
  StageProgress stages(progress, 4 + static_cast<int>(kAlgorithms.size() + kPlaces));
  stages.begin(0, "all figures");
  Results results = scan(source, whole, &stages, stop);
  results.command = Command::reproduce_limits;
  results.settings["experiment"] = kExperiment;
  if (results.partial) return results;
  whole.lengths = results.settings["lengths"].get<std::vector<int>>();
  stages.begin(1, "early warning");
  measure_early_warning(options.cut, options, source.info(), results, &stages, stop);
  if (stop.stop_requested()) {
    results.partial = true;
    return results;
  }
  stages.begin(2, "answers");
  measure_retrieval(options, results, &stages, stop);
  if (stop.stop_requested()) {
    results.partial = true;
    return results;
  }
  stages.begin(3, "T = 0.1");
  add_cold(source, whole, results, &stages, stop);
  std::vector<double> seconds;
  for (const Algorithm& algorithm : kAlgorithms) {
    stages.begin(4 + static_cast<int>(seconds.size()), fmt::format("cost of {}", algorithm.name));
    seconds.push_back(kUndefined);
    const bool measured = algorithm.group == std::string_view("sensitivity") || source.info().has_x;
    if (!measured || stop.stop_requested()) continue;
    const Results timed = scan(source, settings_of(algorithm, whole), &stages, stop);
    if (!timed.partial) seconds.back() = timed.timings.total.value();
  }
  const Places places = measure_places(source, whole, options, results, stages, stop);
  results.partial = stop.stop_requested();
  add_costs(seconds, results);
  tell_what_is_missing(results);
  results.settings["places"] = places.with.size();
  if (!results.partial) results.claims = judge_at(places);
  return results;
}

}  // namespace headgauge
