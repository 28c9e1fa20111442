#include "tasks/haystack.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "tokenize/first_tokens.hpp"
#include "tokenize/text_checker.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kMostTokens = std::size_t{1} << 20;  // of a text

// Sentences without names and numbers, which say nothing that a task asks for.
constexpr const char* kSentences[] = {
    " The grass is green and soft.",
    " The sky is blue today.",
    " The sun is warm on the stones.",
    " Here we go again, up the hill and down the other side.",
    " There and back again they walked.",
    " A light wind moved through the leaves.",
    " Nobody was in a hurry that morning.",
    " The road turned slowly to the left.",
    " Some birds sat on the wall and were quiet.",
    " It had rained a little in the night.",
    " The old door was open, as it often was.",
    " Bread and tea stood on the table.",
    " They talked about the weather for a while.",
    " The water in the pond was still.",
    " A dog slept in the shade of the tree.",
    " Later the clouds came in from the sea.",
    " The children had gone home by then.",
    " All of the windows looked to the south.",
    " It was neither early nor late.",
    " The path was dry and easy to follow.",
    " Somebody had left a coat on the chair.",
    " The fields were yellow at this time of the year.",
    " From the bridge one could see the whole valley.",
    " After that nothing much happened.",
};

Hay read_text(const Text& text, const Tokenizer& tokenizer, const std::stop_token& stop) {
  FirstTokens first(tokenizer, kMostTokens, true);
  TextChecker checker(text.name, [&](std::string_view characters) { first.add(characters); });
  const auto add = [&](std::string_view piece) { checker.add(piece); };
  if (text.utf8 != nullptr) {
    add(*text.utf8);
  } else {
    read_pieces(text.name, stop, add);
  }
  checker.finish();
  FirstTokens::Found found = first.finish();
  found.tokens.resize(std::min(found.tokens.size(), kMostTokens));
  Hay hay(std::move(found.tokens));
  for (std::size_t i = 1; i < hay.ids.size(); ++i) hay.begins[i] = !found.texts[i].empty();
  return hay;
}

Hay read_ids(const Text& text, const std::stop_token& stop) {
  return Hay(text.ids != nullptr ? *text.ids
                                 : parse_token_ids(read_stream(text.name, stop), text.name));
}

}  // namespace

Haystack::Haystack(const Texts& texts, const Tokenizer& tokenizer, Index vocabulary,
                   const std::stop_token& stop) {
  for (const Text& text : texts) {
    names_.push_back(text.name);
    texts_.push_back(text.is_ids ? read_ids(text, stop) : read_text(text, tokenizer, stop));
    check_ids(texts_.back().ids, vocabulary, text.name);
  }
  if (!texts.empty()) return;
  for (const char* sentence : kSentences) {
    sentences_.push_back(tokens_after(tokenizer, ".", sentence));
    check_ids(sentences_.back(), vocabulary, "the haystack");
  }
}

Hay Haystack::piece(Index count, Index usual, Index number, Draws& draws) const {
  if (texts_.empty()) {
    TokenIds ids;
    while (std::ssize(ids) < count) append(ids, draws.one_of(sentences_));
    ids.resize(static_cast<std::size_t>(count));
    return Hay(ids);
  }
  const auto which = static_cast<std::size_t>(number % std::ssize(texts_));
  const Hay& text = texts_[which];
  const Index tokens = std::ssize(text.ids);
  if (tokens < count) {
    throw BadInputError(fault(names_[which], fmt::format("a text of at least {} tokens", count),
                              fmt::format("{} tokens", tokens),
                              "give a longer text or a shorter length"));
  }
  Index begin = std::min(draws.below(std::max<Index>(tokens - usual, 0) + 1), tokens - count);
  while (text.whole(begin) != begin) --begin;
  const Index end = text.whole(begin + count);
  Hay piece({text.ids.begin() + begin, text.ids.begin() + end});
  piece.begins.assign(text.begins.begin() + begin, text.begins.begin() + end);
  return piece;
}

}  // namespace headgauge
