#include "tokenize/first_tokens.hpp"

#include <algorithm>
#include <utility>

namespace headgauge {
namespace {

constexpr std::size_t kBytesPerToken = 16;  // most texts have less than a third of it
constexpr std::size_t kMargin = 8;
constexpr std::size_t kLeastReach = 64;  // tokens

// Cuts the text at a whole character, at most `bytes` long.
std::string_view cut_text(std::string_view text, std::size_t bytes) {
  while (bytes > 0 && bytes < text.size() && (text[bytes] & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

FirstTokens::FirstTokens(const Tokenizer& tokenizer, std::size_t most, bool with_texts)
    : tokenizer_(tokenizer),
      most_(most),
      with_texts_(with_texts),
      enough_(std::max(kWholeText, std::min(most, kWholeText << 10) * kBytesPerToken)) {}

void FirstTokens::add(std::string_view characters) {
  if (done_) return;
  text_ += characters;
  while (most_ > 0 && !done_ && text_.size() > enough_) try_beginning();
}

FirstTokens::Found FirstTokens::finish() {
  if (!done_) {
    encode(text_);
    found_.whole = true;
  }
  return std::move(found_);
}

void FirstTokens::try_beginning() {
  if (shorter_.empty()) {
    encode(cut_text(text_, enough_ / 2));
    shorter_ = std::move(found_.tokens);
  }
  encode(cut_text(text_, enough_));
  const auto differ = std::ranges::mismatch(shorter_, found_.tokens).in1;
  const auto felt = static_cast<std::size_t>(shorter_.end() - differ);
  done_ = shorter_.size() >= most_ + kMargin * std::max(felt, kLeastReach);
  if (done_) {
    found_.tokens.resize(most_);
    if (with_texts_) found_.texts.resize(most_);
    text_ = {};
  } else {
    shorter_ = std::move(found_.tokens);
    enough_ *= 2;
  }
}

void FirstTokens::encode(std::string_view beginning) {
  found_.tokens = with_texts_ ? tokenizer_.encode(beginning, found_.around, found_.texts)
                              : tokenizer_.encode(beginning, found_.around);
}

}  // namespace headgauge
