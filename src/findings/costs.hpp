// Judges what smaller caches cost, by equivalence (docs/mathematics.md 7a).
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// The dim of the smaller caches that a scan tries.
inline constexpr const char* kSmaller = "smaller";

// Says which changes along `dim` are shown to cost little, which are shown to cost more, and which
// are not shown to do either, on text, in answers or both; nothing if neither was measured.
std::vector<SummaryLine> cost_sentences(const Results& results, const std::string& dim);

}  // namespace headgauge
