// The claims of the two papers (docs/reproduce.md lists them by name). Each is judged on results
// and has a verdict, the test and the measured values. If the results lack data for a claim,
// Claim::measured says what to scan with.
#pragma once

#include <string_view>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Judges one claim: of paper A on results of scan() or reproduce_limits(), of paper B on those of
// reproduce_tokens(). Throws BadInputError if no claim has this name.
Claim judge_claim(std::string_view name, const Results& results);

// Judges all claims of paper B; judge_limits() those of paper A.
std::vector<Claim> tokens_claims(const Results& results);

}  // namespace headgauge
