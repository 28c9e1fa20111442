// The files of one result in a folder: results.json, and heads.csv if it has heads.
#pragma once

#include <string>

#include "headgauge/files.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

inline constexpr const char* kResultsFile = "results.json";
inline constexpr const char* kHeadsFile = "heads.csv";

// Returns true if the results have heads and lengths, which heads.csv requires.
bool has_heads(const Results& results);

// Adds both files to a set that appears together. If the results have no heads, removes a heads.csv
// of earlier results.
void add_results(const Results& results, AtomicFiles& files);

// Writes both files. If one cannot be written, throws ResourceError and leaves the old pair.
void write_results_folder(const Results& results, const std::string& folder);

}  // namespace headgauge
