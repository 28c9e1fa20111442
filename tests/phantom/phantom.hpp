// The phantom: a checkpoint whose heads are built, so that their roles are known beforehand.
#pragma once

#include <array>
#include <string>

#include "headgauge/base.hpp"

namespace headgauge {

// What a head prefers; its preferred keys have logit `strength` (one-hot: 200), all others 0.
enum class PhantomHead { uniform, sink, previous_token, same_token, one_hot, induction, distant };
inline constexpr std::array kPhantomHeads = {PhantomHead::uniform,        PhantomHead::sink,
                                             PhantomHead::previous_token, PhantomHead::same_token,
                                             PhantomHead::one_hot,        PhantomHead::induction,
                                             PhantomHead::distant};

inline constexpr Index kPhantomTokens = 128;  // vocabulary, and longest context
// Token of a position: every token once in an order without meaning, or the first half of them
// twice.
constexpr int phantom_token(Index position) {
  return static_cast<int>((37 * position + 11) % kPhantomTokens);
}
constexpr int repeated_phantom_token(Index position) {
  return phantom_token(position % (kPhantomTokens / 2));
}
// The token before a position; before the first one the last one, so that every key follows one.
constexpr int token_before(Index position) {
  return phantom_token(position + kPhantomTokens - 1);
}
inline constexpr Index kPhantomDistance = 70;   // from a query of the distant head to its key
inline constexpr double kOneHotStrength = 200;  // e^-200: nothing else is left in float32

// Writes a GPT-2 checkpoint of one layer with these heads, tokens.txt and repeated.txt. `strength`,
// above 0 and at most 80, is the logit of the key that a head prefers; all others have logit 0.
void write_phantom(const std::string& folder, double strength);

}  // namespace headgauge
