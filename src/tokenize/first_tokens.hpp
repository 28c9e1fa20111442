// Finds the first tokens of a text of any length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/tokenize.hpp"

namespace headgauge {

// Tokenizes a text that comes in pieces of whole characters, only as far as its first `most` tokens
// need. A text of up to kWholeText bytes is tokenized whole. The beginning of a longer text is
// tokenized twice, cut at two places. The tokens are accepted if both versions agree far beyond the
// last token asked for; else it waits for more text, up to all of it. If the tokenizer splits a
// text into words before it looks for tokens, the first `most` are certain to be those of the whole
// text, because tokens of the words that both versions have are the same. Otherwise the distance
// from the cut at which the versions begin to differ shows how far the cut has an effect, and the
// margin is kMargin times that distance.
class FirstTokens {
 public:
  static constexpr std::size_t kWholeText = std::size_t{1} << 20;

  // If `most` is 0, all tokens. `with_texts` also returns the text of each token.
  FirstTokens(const Tokenizer& tokenizer, std::size_t most, bool with_texts = false);

  void add(std::string_view characters);

  struct Found {
    std::vector<int> tokens;         // the first `most`, or all
    std::vector<std::string> texts;  // the texts of `tokens` if `with_texts`
    Tokenizer::Around around;
    bool whole = false;  // true if the text was tokenized to its end and all tokens are here
  };
  // Call this when the text has ended.
  Found finish();

 private:
  void try_beginning();
  void encode(std::string_view beginning);

  const Tokenizer& tokenizer_;
  std::size_t most_;
  bool with_texts_;
  std::size_t enough_;        // bytes needed before the next trial
  std::string text_;          // kept until the tokens are found
  std::vector<int> shorter_;  // tokens of a shorter beginning
  bool done_ = false;
  Found found_;  // for the last beginning
};

}  // namespace headgauge
