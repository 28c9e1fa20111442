// The entry point: measure every head of a source.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/options.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

class Journal;

// Makes a measure for one pass over a source: with the options as they are used, and for `slots`
// threads that call its observe().
using MeasureMaker = std::function<std::unique_ptr<Measure>(const MeasureOptions& options,
                                                            const SourceInfo& source, int slots)>;

inline constexpr int kUsualExamples = 6;
// The texts of the tokens of more documents are not held without being asked for.
inline constexpr std::size_t kDocumentsWithExamples = 16;

struct ScanOptions {
  std::vector<int> lengths;                     // empty: auto
  std::vector<std::string> measures;            // groups; empty: all that the source allows
  std::vector<MeasureMaker> own_measures = {};  // of the caller, measured beside the groups
  std::string normalizer = "softmax";           // what make_normalizer() takes
  std::shared_ptr<const Normalizer> own_normalizer = {};  // in place of `normalizer`
  std::string pattern = "none";  // or what make_pattern() takes: which keys are left to a query
  std::shared_ptr<const Pattern> own_pattern = {};  // in place of `pattern`
  std::string layers;                               // see HeadSelection
  std::string heads;
  XSource x = XSource::embedding;  // recorded; the source was built with it
  // Rows measured in each position bin: 0 all, K > 0 K of them (stratified), absent: all up to a
  // length of 8192 and 64 a bin beyond.
  std::optional<int> queries;
  // Queries kept of each head with the keys that hold its weight, in Results::examples; 0: none,
  // absent: kUsualExamples where the source has texts of its tokens, heads are measured, and there
  // are at most kDocumentsWithExamples documents. Of scan() alone: comparisons and convergence keep
  // none.
  std::optional<int> examples;
  int threads = 0;  // 0: as many as there are cores
  std::uint64_t seed = 0;
  // Where finished parts are kept and found (journal.hpp); null: nowhere.
  Journal* journal = nullptr;
  MeasureOptions measure;  // its lengths, seed and `changed` are the scan's, whatever they say
};

// Lists the options that have names, as the command line, settings and documents have them.
std::vector<Option> options_of(ScanOptions& options);

// Gives the lengths of "auto": 32, 64, ... 1024 as far as they fit, plus the text's own length
// if it is under 1024; max_length 0: there is no longest context. Throws BadInputError if the text
// is too short for any.
std::vector<int> auto_lengths(Index tokens, Index max_length);

// Measures every selected head of the source at every length. Deterministic: the same bits in
// metrics, standard errors and flags on any number of threads. When `stop` is requested, the layers
// finished so far are returned with Results::partial set.
// Throws UsageError, BadInputError (a length that does not fit; NaN or Inf), ResourceError (does
// not fit in memory).
Results scan(HeadSource& source, const ScanOptions& options, Progress* progress = nullptr,
             std::stop_token stop = {});

// Lists the metrics that scan() gives of this source, own_measures included; by its dims beside
// layer, head and length, and without the twins by position. Throws as scan() does.
std::vector<MetricInfo> scan_metrics(const ScanOptions& options, const SourceInfo& source);

// Says what results of scan(), compare(), converge() or simulate() hold; every number in
// them is also a Fact. The commands keep it in Results::summary.
std::vector<SummaryLine> summarize(const Results& results);

}  // namespace headgauge
