// The entry point: measure every head of a source.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

struct ScanOptions {
  std::vector<int> lengths;           // empty: auto
  std::vector<std::string> measures;  // groups; empty: all that the source allows
  std::string normalizer = "softmax";
  std::string pattern = "none";  // or what make_pattern() takes: which keys are left to a query
  std::string layers;            // see HeadSelection
  std::string heads;
  XSource x = XSource::embedding;  // recorded; the source was built with it
  // Rows measured in each position bin: 0 all, K > 0 K of them (stratified), absent: all up to a
  // length of 8192 and 64 a bin beyond.
  std::optional<int> queries;
  int threads = 0;  // 0: as many as there are cores
  std::uint64_t seed = 0;
  MeasureOptions measure;  // lengths and seed are filled in by scan()
};

// Lengths that "auto" stands for: 32, 64, ... 1024 as far as they fit, plus the text's own length
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

// What results of scan(), compare(), converge() or simulate() say, in sentences; every number in
// them is also a Fact. The commands keep it in Results::summary.
std::vector<SummaryLine> summarize(const Results& results);

}  // namespace headgauge
