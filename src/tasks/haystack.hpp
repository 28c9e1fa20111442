// The text that the facts of a case are hidden in.
#pragma once

#include <stop_token>
#include <vector>

#include "headgauge/texts.hpp"
#include "tasks/draws.hpp"
#include "tasks/phrases.hpp"

namespace headgauge {

class Haystack {
 public:
  // Reads the texts, at most 2^20 tokens of each. Without texts the haystack is made of short
  // neutral sentences. Throws BadInputError for a text that cannot be read.
  Haystack(const Texts& texts, const Tokenizer& tokenizer, Index vocabulary,
           const std::stop_token& stop);

  // Returns `count` tokens in a row for the case of this number: from a random place of a text, or
  // sentences in random order. Throws BadInputError if the text has fewer.
  TokenIds piece(Index count, Index number, Draws& draws) const;

 private:
  std::vector<std::string> names_;
  std::vector<TokenIds> texts_;      // token ids of each text
  std::vector<TokenIds> sentences_;  // without texts
};

}  // namespace headgauge
