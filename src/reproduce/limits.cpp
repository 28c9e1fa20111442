// `reproduce limits`: runs one scan with paper A's settings, at several places and temperatures.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stop_token>
#include <vector>

#include "experiments/stages.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/reproduce.hpp"
#include "headgauge/scan.hpp"
#include "headgauge/text.hpp"
#include "reproduce/claim_tests.hpp"
#include "reproduce/early_warning.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

// The sizes of Fig. 2b, and additional ones for Fig. 3.
const std::vector<int> kSizes = {1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100};
constexpr int kJudgedSize = 20;
// Shares of the keys: N in proportion to L, paper A's main claim.
const std::vector<double> kShares = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5};
constexpr double kSearched = 0.125;  // share of L: twice the claimed one

// Temperatures at which the heads are also measured: those that the paper advises against, and a
// hot one. The scan itself has T = 1.
constexpr std::array kTemperatures = {0.01, 0.02, 0.05, 0.1, 1.0, 10.0};
constexpr double kSeparatedAt = 0.1;  // has separability, too

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

// Adds the heads at other temperatures, at the longest length; `scan_options` must be resolved.
void add_temperatures(HeadSource& source, ScanOptions scan_options, Results& results,
                      Progress* progress, const std::stop_token& stop) {
  results.set_coord("judged_temperature",
                    std::vector<double>(kTemperatures.begin(), kTemperatures.end()));
  LabelledArray& norm = add_declared(results, metric::norm_at_temperature).with_standard_errors();
  LabelledArray& entropy = add_declared(results, metric::entropy_at_temperature);
  LabelledArray* separability =
      source.info().has_x ? &add_declared(results, metric::cold_separability) : nullptr;
  scan_options.lengths = {scan_options.lengths.back()};
  scan_options.measure.top_n = {kJudgedSize};
  scan_options.measure.temperatures = {1};
  scan_options.measure.epsilons = {1e-3};
  for (Index t = 0; t < std::ssize(kTemperatures) && !stop.stop_requested(); ++t) {
    const bool cold = kTemperatures[t] == kSeparatedAt && separability != nullptr;
    scan_options.measures = {"weights", "sensitivity"};
    if (cold) scan_options.measures.emplace_back("separability");
    scan_options.normalizer = fmt::format("softmax:t={:g}", kTemperatures[t]);
    const bool as_is = kTemperatures[t] == 1;
    const Results scanned = as_is ? Results() : scan(source, scan_options, progress, stop);
    const Results& found = as_is ? results : scanned;
    const Index n = as_is ? judged_top_n(results).value_or(0) : 0;
    for (const HeadName& head : measured_heads(found)) {
      const auto cell = [&](const char* metric) {
        return find_cell(found, metric,
                         {{"layer", head.layer_index}, {"head", head.head_index}, {"top_n", n}});
      };
      if (const auto own = cell(metric::jacobian_spectral)) {
        norm.set({head.layer_index, head.head_index, t},
                 {.value = own->value,
                  .standard_error = own->standard_error,
                  .degrees_of_freedom = own->degrees_of_freedom});
      }
      if (const auto own = cell(metric::entropy_normalized_with_sinks)) {
        entropy({head.layer_index, head.head_index, t}) = own->value;
      }
      const auto own = cold ? cell(metric::separability_excess) : std::nullopt;
      if (own) (*separability)({head.layer_index, head.head_index}) = own->value;
    }
  }
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
    stages.begin(4 + static_cast<int>(place), fmt::format("place {} of {}", place + 1, count));
    if (other) {
      places.with.push_back(scan(at, with, &stages, stop));
      add_temperatures(at, with, places.with.back(), &stages, stop);
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
  const bool current = std::ranges::equal(scanned.claims, declared_claims("A"), {}, &Claim::name,
                                          [](const DeclaredClaim& one) { return one.words.name; });
  if (!current) scanned.claims = judge_at({.with = {scanned}, .beyond = {}});
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
  StageProgress stages(progress, 4 + static_cast<int>(kPlaces));
  stages.begin(0, "all figures");
  Results results = scan(source, whole, &stages, stop);
  results.command = Command::reproduce_limits;
  results.settings["experiment"] = kExperiment;
  if (results.partial) return results;
  whole.lengths = results.settings["lengths"].get<std::vector<int>>();
  stages.begin(1, "early warning");
  measure_early_warning(options, source.info(), results, &stages, stop);
  stages.begin(2, "answers");
  if (!stop.stop_requested()) measure_retrieval(options, results, &stages, stop);
  results.partial = stop.stop_requested();
  if (results.partial) return results;
  stages.begin(3, "temperatures");
  add_temperatures(source, whole, results, &stages, stop);
  const Places places = measure_places(source, whole, options, results, stages, stop);
  results.partial = stop.stop_requested();
  tell_what_is_missing(results);
  results.settings["places"] = places.with.size();
  if (!results.partial) results.claims = judge_at(places);
  return results;
}

}  // namespace headgauge
