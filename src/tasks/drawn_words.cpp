#include "tasks/drawn_words.hpp"

#include <fmt/format.h>

namespace headgauge {

TokenIds enough_words(const TaskMaterial& material, Index needed, WordParts parts) {
  TokenIds words = word_tokens(material.tokenizer, material.vocabulary, parts);
  if (std::ssize(words) >= needed) return words;
  throw BadInputError(fault(material.tokenizer.path(),
                            fmt::format("at least {} words of Latin letters", needed),
                            fmt::format("{}", words.size()),
                            fmt::format("give a shorter length than {} tokens, or another task",
                                        material.options.length)));
}

}  // namespace headgauge
