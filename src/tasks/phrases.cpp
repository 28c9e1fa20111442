#include "tasks/phrases.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace headgauge {
namespace {

constexpr Index kEnoughWords = 256;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

TokenIds tokens_after(const Tokenizer& tokenizer, std::string_view before, std::string_view text) {
  Tokenizer::Around around;
  std::vector<std::string> texts;
  const std::string whole = std::string(before) + std::string(text);
  const TokenIds ids = tokenizer.encode(whole, around, texts);
  std::size_t at = 0;
  for (std::size_t i = 0; i < ids.size() && at <= before.size(); ++i) {
    if (at == before.size() && !texts[i].empty()) {
      return {ids.begin() + static_cast<std::ptrdiff_t>(i), ids.end()};
    }
    at += texts[i].size();
  }
  return tokenizer.encode(text, around);
}

TokenIds word_tokens(const Tokenizer& tokenizer, Index vocabulary, WordParts parts) {
  TokenIds spaced, plain;
  const int end = static_cast<int>(std::min<Index>(vocabulary, tokenizer.vocabulary()));
  for (int id = 0; id < end; ++id) {
    std::string piece = tokenizer.piece(id);
    // Some decoders take the space from a token that stands alone.
    if (tokenizer.decode(std::array{id, id}) == piece + ' ' + piece) piece.insert(0, 1, ' ');
    const bool space = piece.starts_with(' ');
    const std::string_view letters = std::string_view(piece).substr(space ? 1 : 0);
    if (letters.size() < 2 || !std::ranges::all_of(letters, is_letter)) continue;
    (space ? spaced : plain).push_back(id);
  }
  if (parts == WordParts::no && std::ssize(spaced) >= kEnoughWords) return spaced;
  append(spaced, plain);
  return spaced;
}

void append(TokenIds& ids, std::span<const int> more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

Index count_of(const TokenIds& ids, const TokenIds& part) {
  Index count = 0;
  for (auto from = ids.begin();; ++from, ++count) {
    from = std::search(from, ids.end(), part.begin(), part.end());
    if (from == ids.end()) return count;
  }
}

}  // namespace headgauge
