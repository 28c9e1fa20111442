// Tokens of short texts, as they are in the middle of a longer one.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "headgauge/tokenize.hpp"

namespace headgauge {

using TokenIds = std::vector<int>;

// Returns the tokens of `text` where it follows `before`, which is ASCII: some tokenizers put a
// space before a text that stands alone. If a token covers the end of `before` too, returns those
// of the text alone.
TokenIds tokens_after(const Tokenizer& tokenizer, std::string_view before, std::string_view text);

enum class WordParts { no, yes };

// Returns the ids below `vocabulary` of words: a space and at least two Latin letters; and, if
// parts of words are asked for or the tokenizer has too few words, of letters alone. None is a
// special token.
TokenIds word_tokens(const Tokenizer& tokenizer, Index vocabulary, WordParts parts);

// Appends `more` to `ids`.
void append(TokenIds& ids, std::span<const int> more);

// Returns how often `part`, which is not empty, occurs in `ids`.
Index count_of(const TokenIds& ids, const TokenIds& part);

}  // namespace headgauge
