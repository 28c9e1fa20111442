#include "tasks/drawn_words.hpp"

#include <fmt/format.h>

namespace headgauge {

TokenIds enough_words(const TaskMaterial& material, Index needed) {
  TokenIds words = word_tokens(material.tokenizer, material.vocabulary);
  if (std::ssize(words) >= needed) return words;
  throw BadInputError(fault(material.tokenizer.path(),
                            fmt::format("at least {} words of Latin letters", needed),
                            fmt::format("{}", words.size()),
                            fmt::format("give a shorter length than {} tokens, or another task",
                                        material.options.length)));
}

}  // namespace headgauge
