// The text around examples and around tokens whose loss changes.
#pragma once

#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

inline constexpr Index kTokensAround = 8;  // tokens shown on either side of a query or a key

// Returns the tokens within 8 of the queries and keys of the examples, document by document, with
// adjacent ranges joined. A document whose tokens the source does not know has none.
std::vector<Passage> passages_around(std::span<const Example> examples, const HeadSource& source);
// Returns the same for tokens.
std::vector<Passage> passages_around(std::span<const TokenLoss> tokens, const HeadSource& source);

}  // namespace headgauge
