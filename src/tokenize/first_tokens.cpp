#include "tokenize/first_tokens.hpp"

#include <algorithm>
#include <utility>

namespace headgauge {
namespace {

constexpr std::size_t kBytesPerToken = 16;  // of which most texts have less than a third
constexpr std::size_t kMargin = 8;
constexpr std::size_t kLeastReach = 64;  // tokens

// As much of the text as whole characters allow.
std::string_view cut_text(std::string_view text, std::size_t bytes) {
  while (bytes > 0 && bytes < text.size() && (text[bytes] & 0xC0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

FirstTokens::FirstTokens(const Tokenizer& tokenizer, std::size_t most)
    : tokenizer_(tokenizer),
      most_(most),
      enough_(std::max(kWholeText, std::min(most, kWholeText << 10) * kBytesPerToken)) {}

void FirstTokens::add(std::string_view characters) {
  if (!found_.empty()) return;
  text_ += characters;
  while (most_ > 0 && found_.empty() && text_.size() > enough_) try_beginning();
}

FirstTokens::Found FirstTokens::finish() {
  if (!found_.empty()) return {std::move(found_), std::move(around_), false};
  std::vector<int> all = encode(text_);
  return {std::move(all), std::move(around_), true};
}

void FirstTokens::try_beginning() {
  if (shorter_.empty()) shorter_ = encode(cut_text(text_, enough_ / 2));
  std::vector<int> longer = encode(cut_text(text_, enough_));
  const auto differ = std::ranges::mismatch(shorter_, longer).in1;
  const auto felt = static_cast<std::size_t>(shorter_.end() - differ);
  if (shorter_.size() >= most_ + kMargin * std::max(felt, kLeastReach)) {
    longer.resize(most_);
    found_ = std::move(longer);
    text_ = {};
  } else {
    shorter_ = std::move(longer);
    enough_ *= 2;
  }
}

std::vector<int> FirstTokens::encode(std::string_view beginning) {
  return tokenizer_.encode(beginning, around_);
}

}  // namespace headgauge
