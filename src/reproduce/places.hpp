// Which verdicts on paper A stand wherever the text is read, and with the sinks as without them.
#pragma once

#include <vector>

#include "headgauge/results.hpp"
#include "reproduce/claim_tests.hpp"

namespace headgauge {

// A verdict needs this many places in the text.
inline constexpr std::size_t kPlaces = 4;

// The results of a scan at each place; `beyond` are those of the same places without the sinks, and
// may be fewer. The first of each is that of the text's beginning.
struct Places {
  std::vector<Results> with, beyond;
};

// Judges every claim at every place. A claim holds, or does not, only where all of them say so;
// else it cannot be told, and Claim::measured says what it turns with. Numbers and facts are those
// of the first place, with the mean and the standard error of the first fact over the places.
std::vector<Claim> judge_at(const Places& places);

}  // namespace headgauge
