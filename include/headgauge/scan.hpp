// The entry point: measures every head of a source.
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
#include "headgauge/journal.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/options.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Makes a measure for one pass over a source, from the resolved options; `slots` threads call its
// observe().
using MeasureMaker = std::function<std::unique_ptr<Measure>(const MeasureOptions& options,
                                                            const SourceInfo& source, int slots)>;

inline constexpr int kUsualExamples = 6;
// A scan of more documents keeps the text of the tokens only if the user asks for examples.
inline constexpr std::size_t kDocumentsWithExamples = 16;

struct ScanOptions {
  std::vector<int> lengths;                     // empty: auto
  std::vector<std::string> measures;            // groups; empty: all that the source allows
  std::vector<MeasureMaker> own_measures = {};  // the caller's measures, in addition to the groups
  std::string normalizer = "softmax";           // see make_normalizer()
  std::shared_ptr<const Normalizer> own_normalizer = {};  // replaces `normalizer`
  std::string pattern = "none";  // see make_pattern(): the keys that a query keeps
  std::shared_ptr<const Pattern> own_pattern = {};  // replaces `pattern`
  std::string layers;                               // see HeadSelection
  std::string heads;
  XSource x = XSource::embedding;  // recorded only; the source was built with it
  // Number of rows measured in each position bin: 0 for all, K > 0 for a stratified sample of K,
  // absent for all rows up to a length of 8192 and 64 in each bin beyond.
  std::optional<int> queries;
  // Number of example queries kept for each head, with the keys that have most weight, in
  // Results::examples; 0: none. Absent: kUsualExamples if the source has the text of its tokens,
  // heads are measured, and there are at most kDocumentsWithExamples documents. Only scan() keeps
  // examples.
  std::optional<int> examples;
  int threads = 0;  // 0: one for each core
  std::uint64_t seed = 0;
  JournalRef journal = no_journal();  // stores and finds finished parts
  MeasureOptions measure;             // the scan sets its lengths, seed and `changed`
};

// Lists the named options, for the command line, the settings and the documentation.
std::vector<Option> options_of(ScanOptions& options);

// Returns the lengths of "auto": 32, 64, ... 1024 as far as they fit, and the text's own length if
// it is under 1024. max_length 0: the context is unlimited. Throws BadInputError if the text is too
// short for any.
std::vector<int> auto_lengths(Index tokens, Index max_length);

// Measures every selected head of the source at every length. Metrics, standard errors and flags
// have the same bits on any number of threads. If `stop` is requested, returns the layers finished
// so far with Results::partial set.
// Throws UsageError, BadInputError (a length that does not fit; NaN or Inf), ResourceError (does
// not fit in memory).
Results scan(HeadSource& source, const ScanOptions& options, Progress* progress = nullptr,
             std::stop_token stop = {});

// Lists the metrics that scan() returns for this source, including those of own_measures and
// without the twins by position; dims omit layer, head and length. Throws as scan() does.
std::vector<MetricInfo> scan_metrics(const ScanOptions& options, const SourceInfo& source);

// Returns sentences on the results of scan(), compare(), converge() or simulate(); every number in
// them is also a Fact. The commands store them in Results::summary.
std::vector<SummaryLine> summarize(const Results& results);

}  // namespace headgauge
