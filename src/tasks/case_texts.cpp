#include "tasks/case_texts.hpp"

#include <algorithm>

#include "tasks/phrases.hpp"

namespace headgauge {
namespace {

// Returns the index of the token that the byte `at` of the text belongs to.
Index token_at(const std::vector<std::string>& texts, std::size_t at) {
  Index token = 0;
  for (std::size_t end = 0; token < std::ssize(texts); ++token) {
    end += texts[token].size();
    if (end > at) break;
  }
  return token;
}

}  // namespace

CaseTexts texts_of(const TaskCase& one, const Tokenizer& tokenizer) {
  Tokenizer::Around around;
  tokenizer.encode("a", around);
  const auto text = [&](std::span<const int> ids) {
    const bool opens = std::ranges::mismatch(around.before, ids).in1 == around.before.end();
    return tokenizer.decode(ids.subspan(opens ? around.before.size() : 0));
  };
  TokenIds whole = one.prompt;
  append(whole, one.answer);
  CaseTexts texts{.prompt = text(one.prompt), .answer = text(whole)};
  // A decoder may take the space from the beginning of what it gets.
  texts.answer.erase(0, texts.prompt.size());
  if (!one.control.empty()) texts.control = text(one.control);
  return texts;
}

bool tokenize_case(const CaseTexts& texts, const Tokenizer& tokenizer, TaskCase& one) {
  std::vector<std::string> pieces;  // of the prompt
  const auto tokenize = [&](const std::string& text, TokenIds& prompt, TokenIds& answer) {
    Tokenizer::Around around;
    prompt = tokenizer.encode(text, around, pieces);
    answer = tokenizer.encode(text + texts.answer, around);
    if (std::ranges::mismatch(prompt, answer).in1 != prompt.end()) return false;
    answer.erase(answer.begin(), answer.begin() + std::ssize(prompt));
    prompt.insert(prompt.begin(), around.before.begin(), around.before.end());
    return true;
  };
  TokenIds behind_control;
  if (texts.control && !tokenize(*texts.control, one.control, behind_control)) return false;
  if (!tokenize(texts.prompt, one.prompt, one.answer)) return false;
  const std::size_t at = one.source.empty() ? std::string::npos : texts.prompt.rfind(one.source);
  if (at != std::string::npos) one.distance = std::ssize(pieces) - token_at(pieces, at);
  return !texts.control || behind_control == one.answer;
}

}  // namespace headgauge
