// The first tokens of a text, however long it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/tokenize.hpp"

namespace headgauge {

// Tokenises a text that comes in pieces of whole characters no further than its first `most` tokens
// need. A text of up to kWholeText bytes is tokenised whole. Of a longer one the beginning is
// tokenised twice, cut at two places, and the tokens are taken where the two agree far beyond the
// last one that is asked for; else more of the text is waited for, up to all of it. How far a cut
// is felt is seen in the tokens where the two begin to differ: that the first `most` are those of
// the whole text is certain where a tokenizer splits a text into words before it looks for tokens,
// for the words that both have are the same, and checked with a margin of kMargin times that
// distance where it does not.
class FirstTokens {
 public:
  static constexpr std::size_t kWholeText = std::size_t{1} << 20;

  // `most` 0: all tokens. `with_texts`: what each of them stands for, too.
  FirstTokens(const Tokenizer& tokenizer, std::size_t most, bool with_texts = false);

  void add(std::string_view characters);

  struct Found {
    std::vector<int> tokens;         // the first `most`, or all
    std::vector<std::string> texts;  // of these, where they are asked for
    Tokenizer::Around around;
    bool whole = false;  // all of the text was tokenised, and all of its tokens are here
  };
  // To be called when the text has ended.
  Found finish();

 private:
  void try_beginning();
  void encode(std::string_view beginning);

  const Tokenizer& tokenizer_;
  std::size_t most_;
  bool with_texts_;
  std::size_t enough_;        // bytes to have before the next trial
  std::string text_;          // until the tokens are found
  std::vector<int> shorter_;  // tokens of a shorter beginning
  bool done_ = false;
  Found found_;  // of the last beginning
};

}  // namespace headgauge
