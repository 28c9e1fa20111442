// The text that the facts of a case are hidden in.
#pragma once

#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "headgauge/texts.hpp"
#include "tasks/draws.hpp"
#include "tasks/phrases.hpp"

namespace headgauge {

// Tokens in a row, which are taken from their beginning.
struct Hay {
  explicit Hay(TokenIds all) : ids(std::move(all)), begins(ids.size(), true) {}

  TokenIds ids;
  std::vector<bool> begins;  // of each token: whether it is no further part of a character
  Index due = 0, at = 0;     // tokens that were asked for, and that were taken

  // Returns the first place from `place` on that is between two characters.
  Index whole(Index place) const {
    while (place < std::ssize(ids) && !begins[static_cast<std::size_t>(place)]) ++place;
    return place;
  }
  // Returns the next `count` tokens and those that complete a character, which are missing then
  // from the next ones.
  std::span<const int> take(Index count) {
    const Index from = std::exchange(at, whole(due += count));
    return std::span(ids).subspan(from, at - from);
  }
};

class Haystack {
 public:
  // Reads the texts, at most 2^20 tokens of each. Without texts the haystack is made of short
  // neutral sentences. Throws BadInputError for a text that cannot be read.
  Haystack(const Texts& texts, const Tokenizer& tokenizer, Index vocabulary,
           const std::stop_token& stop);

  // Returns at least `count` tokens in a row for the case of this number, and so many more that no
  // character is cut in two: from a random place of a text, or sentences in random order. The same
  // draws give the same place for any count near `usual`. Throws BadInputError if the text has
  // fewer.
  Hay piece(Index count, Index usual, Index number, Draws& draws) const;

 private:
  std::vector<std::string> names_;
  std::vector<Hay> texts_;           // tokens of each text
  std::vector<TokenIds> sentences_;  // without texts
};

}  // namespace headgauge
