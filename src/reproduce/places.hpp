// Which verdicts on paper A stand wherever the text is read, and with the sinks as without them.
#pragma once

#include <span>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

struct LimitsClaim {
  Claim (*judge)(const Results&);
  // What a verdict may turn with: the place in the text; also the sinks; or neither, because the
  // claim has a test of its own over pieces or cases.
  enum class Rests { on_places, on_places_and_sinks, on_pieces_or_cases } rests;
};

// Lists the claims of limits_claims().
std::span<const LimitsClaim> all_limits_claims();

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
