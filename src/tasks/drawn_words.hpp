// Random words of a vocabulary.
#pragma once

#include <unordered_set>

#include "tasks/draws.hpp"
#include "tasks/generators.hpp"
#include "tasks/phrases.hpp"

namespace headgauge {

// Returns the words that word_tokens() finds. Throws BadInputError if they are fewer than `needed`.
TokenIds enough_words(const TaskMaterial& material, Index needed, WordParts parts = WordParts::no);

// Draws words, each different from those drawn before.
class DistinctWords {
 public:
  DistinctWords(const TokenIds& words, Draws& draws) : words_(words), draws_(draws) {}

  int next() {
    for (;;) {
      const int word = draws_.one_of(words_);
      if (taken_.insert(word).second) return word;
    }
  }

 private:
  const TokenIds& words_;
  Draws& draws_;
  std::unordered_set<int> taken_;
};

}  // namespace headgauge
