#include "tokenize/first_tokens.hpp"

#include <gtest/gtest.h>

#include <string>

#include "files.hpp"
#include "tokenize/text_checker.hpp"

namespace headgauge {
namespace {

using std::literals::operator""s;

constexpr std::size_t kWhole = FirstTokens::kWholeText;

// Words and bytes alike, so that nothing is unknown: pieces of "a", "b", " " and what they make.
std::string tokenizer_of(const std::string& pre_tokenizer, const std::string& model,
                         const std::string& normalizer) {
  return R"({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "post_processor": null, "decoder": null, "normalizer": )" +
         normalizer + R"(, "pre_tokenizer": )" + pre_tokenizer + R"(, "model": )" + model + "}";
}

const std::string kBpe = R"({"type": "BPE", "dropout": null, "unk_token": null,
  "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
  "vocab": {"a": 0, "b": 1, " ": 2, "aa": 3, "ab": 4, "aaaa": 5, "bab": 6},
  "merges": [["a", "a"], ["a", "b"], ["aa", "aa"], ["b", "ab"]]})";
const std::string kUnigram = R"({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0],
  ["a", -2.0], ["b", -2.5], [" ", -1.0], ["aa", -3.1], ["ab", -3.3], ["aab", -4.0], ["ba", -4.2],
  ["abab", -6.0]]})";
const std::string kWordPiece = R"({"type": "WordPiece", "unk_token": "[UNK]",
  "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
  "vocab": {"[UNK]": 0, "a": 1, "##a": 2, "b": 3, "##b": 4, "##ab": 5}})";

class FirstTokensTest : public ::testing::Test {
 protected:
  Tokenizer load(const std::string& pre_tokenizer, const std::string& model,
                 const std::string& normalizer = "null") {
    folder_.write("tokenizer.json", tokenizer_of(pre_tokenizer, model, normalizer));
    return Tokenizer::load(folder_.path());
  }

  // In pieces, as a file is read.
  static FirstTokens::Found first(const Tokenizer& tokenizer, const std::string& text,
                                  std::size_t most) {
    FirstTokens tokens(tokenizer, most);
    for (std::size_t at = 0; at < text.size(); at += 50000) {
      tokens.add(std::string_view(text).substr(at, 50000));
    }
    return tokens.finish();
  }

  TemporaryFolder folder_;
};

// Letters and spaces that do not repeat with a short period.
std::string text_of(std::size_t bytes) {
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < bytes) {
    state = state * 1664525 + 1013904223;
    text += "aab ab"[state >> 29 < 6 ? state >> 29 : 0];
  }
  return text;
}

TEST_F(FirstTokensTest, AreThoseOfTheWholeText) {
  const std::string text = text_of(3 * kWhole);
  const std::string splits = R"({"type": "WhitespaceSplit"})";
  for (const auto& [pre_tokenizer, model] :
       {std::pair{splits, kBpe}, {"null"s, kBpe}, {"null"s, kUnigram}, {splits, kWordPiece}}) {
    const Tokenizer tokenizer = load(pre_tokenizer, model);
    const std::vector<int> whole = tokenizer.encode(text);
    const auto found = first(tokenizer, text, 3000);
    EXPECT_FALSE(found.whole);
    ASSERT_EQ(found.tokens.size(), 3000u);
    EXPECT_TRUE(std::equal(found.tokens.begin(), found.tokens.end(), whole.begin())) << model;
  }
}

TEST_F(FirstTokensTest, OfATextThatIsNotLongAreAllOfThem) {
  const Tokenizer tokenizer = load("null", kBpe);
  const std::string text = text_of(kWhole);
  const auto found = first(tokenizer, text, 10);
  EXPECT_TRUE(found.whole);
  EXPECT_EQ(found.tokens, tokenizer.encode(text));
  EXPECT_TRUE(first(tokenizer, text_of(2 * kWhole), 0).whole);
}

TEST_F(FirstTokensTest, ThatComeLateAreWaitedFor) {
  const Tokenizer tokenizer = load(R"({"type": "WhitespaceSplit"})", kBpe);
  // The shorter beginning has none.
  const std::string text = std::string(kWhole / 2 + 1000, ' ') + text_of(3 * kWhole);
  const auto found = first(tokenizer, text, 500);
  EXPECT_FALSE(found.whole);
  const std::vector<int> whole = tokenizer.encode(text);
  EXPECT_TRUE(std::equal(found.tokens.begin(), found.tokens.end(), whole.begin()));
}

// The first letter depends on how many there are: no beginning agrees with one of twice its length.
TEST_F(FirstTokensTest, ThatACutChangesAreLookedForToTheEnd) {
  const std::string normalizer = R"-({"type": "Replace", "content": "b",
    "pattern": {"Regex": "^a(?=(?:aaa)*$)"}})-";
  const Tokenizer tokenizer = load("null", kBpe, normalizer);
  ASSERT_NE(tokenizer.encode("aaaa").front(), tokenizer.encode("aaaaa").front());
  const std::string text(3 * kWhole, 'a');
  const auto found = first(tokenizer, text, 5);
  EXPECT_TRUE(found.whole);
  EXPECT_EQ(found.tokens, tokenizer.encode(text));
}

TEST_F(FirstTokensTest, HaveTheirTexts) {
  const Tokenizer tokenizer = load("null", kBpe);
  const std::string text = text_of(2 * kWhole);
  FirstTokens tokens(tokenizer, 100, true);
  tokens.add(text);
  const auto found = tokens.finish();
  ASSERT_EQ(found.texts.size(), 100u);
  std::string beginning;
  for (const std::string& piece : found.texts) beginning += piece;
  EXPECT_TRUE(text.starts_with(beginning)) << beginning;
}

// Cut anywhere, the word is unknown; as a whole, too, but it is one token then and not the first of
// several.
TEST_F(FirstTokensTest, OfAWordThatNeverEndsAreLookedForToTheEnd) {
  const Tokenizer tokenizer = load(R"({"type": "WhitespaceSplit"})", kWordPiece);
  const auto found = first(tokenizer, std::string(3 * kWhole, 'a'), 5);
  EXPECT_TRUE(found.whole);
  EXPECT_EQ(found.tokens, std::vector<int>{0});
}

TEST(TextChecker, TakesATextInAnyPieces) {
  const std::string text = "\xEF\xBB\xBFGr\xC3\xBC\xC3\x9F \xF0\x9F\xA6\x99!\xEF\xBB\xBF";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::string found;
    const std::string path = "a.txt";
    TextChecker checker(path, [&](std::string_view piece) { found += piece; });
    for (std::size_t at = 0; at < text.size(); at += size) {
      checker.add(std::string_view(text).substr(at, size));
    }
    checker.finish();
    EXPECT_EQ(found, text.substr(3)) << size;
  }
}

TEST(TextChecker, NamesTheByteInAnyPieces) {
  const std::string path = "a.txt";
  for (const auto& [text, place] : {std::pair{"caf\xE9 au lait"s, "byte 3"},
                                    {"12345\xC3"s, "byte 5"},
                                    {"\xF0\x9F\xA6"s, "byte 0"}}) {
    for (std::size_t size = 1; size <= text.size(); ++size) {
      const std::string said = error_of([&] {
        TextChecker checker(path, [](std::string_view) {});
        for (std::size_t at = 0; at < text.size(); at += size) {
          checker.add(std::string_view(text).substr(at, size));
        }
        checker.finish();
      });
      EXPECT_NE(said.find(place), std::string::npos) << said << " in pieces of " << size;
    }
  }
}

}  // namespace
}  // namespace headgauge
