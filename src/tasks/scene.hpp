// Hides facts in a haystack.
#pragma once

#include <string>
#include <vector>

#include "headgauge/tasks.hpp"
#include "tasks/draws.hpp"
#include "tasks/haystack.hpp"
#include "tasks/phrases.hpp"

namespace headgauge {

// The place of a case among all: its distance is in the middle of part `part` of `parts` equal
// parts of the possible distances.
struct Place {
  Index number = 0;  // of the case, from 0
  Index part = 0;
  Index parts = 1;
  // Tokens of the haystack beyond those that the length leaves in the prompt, and of the control in
  // place of the source: where two texts meet, their tokens may become fewer or more.
  Index more = 0, more_control = 0;

  // Returns the value of this part between `least` and `most`.
  Index between(Index least, Index most) const {
    return least + (most - least) * (2 * part + 1) / (2 * parts);
  }
};

// What is hidden in the haystack, and what is asked behind it.
struct Scene {
  TokenIds opening;              // special tokens before the text
  TokenIds asked;                // the fact with the answer
  Index asked_from = 0;          // index in `asked` of the first token of the source
  std::vector<TokenIds> others;  // facts that are not asked for
  TokenIds question, answer;
  std::string source;
};

// Returns the fewest tokens that prompt and answer need.
Index least_length(const Scene& scene);

// Hides the facts in so many tokens of the haystack that prompt and answer have `length` tokens,
// which is at least least_length(), but for Place::more. In the control, further tokens of the
// haystack replace `asked`.
TaskCase hide(const Scene& scene, Index length, const Haystack& haystack, const Place& place,
              Draws& draws);

}  // namespace headgauge
