// The files of one result in a folder: results.json, and heads.csv where it has heads.
#pragma once

#include <string>

#include "headgauge/files.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

inline constexpr const char* kResultsFile = "results.json";
inline constexpr const char* kHeadsFile = "heads.csv";

// Whether there are heads and lengths for heads.csv.
bool has_heads(const Results& results);

// Adds both, results.json first: heads.csv follows from it. A heads.csv of other results goes where
// these have none.
void add_results(const Results& results, AtomicFiles& files);

// Writes both (AtomicFiles). Throws ResourceError where one of them cannot be written.
void write_results_folder(const Results& results, const std::string& folder);

}  // namespace headgauge
