// BERT's WordPiece, from tokenizer.json and from vocab.txt alone.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "faults.hpp"
#include "headgauge/tokenize.hpp"
#include "tokenize/files.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using Ids = std::vector<int>;

// Lines of a vocab.txt: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, then the words.
constexpr const char* kVocabulary =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\n##s\nHello\nh\xC3\xA9llo\n\xE4\xB8\xAD\n"
    "\xE4\xB8\xAD\xE6\x96\x87\n!\n";

Ids ids_with(const TemporaryFolder& folder, const char* config, const char* text) {
  folder.write("vocab.txt", kVocabulary);
  folder.write("tokenizer_config.json", config);
  return Tokenizer::load(folder.path()).encode(text, false);
}

TEST(WordPiece, VocabularyGivesTheSameIdsAsTokenizerJson) {
  const fs::path folder = data_root() / "tokenizers/bert-base-uncased";
  SKIP_WITHOUT(folder);
  const TemporaryFolder parts;
  fs::copy(folder / "vocab.txt", fs::path(parts.path()) / "vocab.txt");
  const Tokenizer whole = Tokenizer::load(folder.string());
  const Tokenizer built = Tokenizer::load(parts.path());
  EXPECT_EQ(built.path(), parts.path() + "/vocab.txt");
  EXPECT_EQ(built.vocabulary(), whole.vocabulary());
  for (const char* text : {"[CLS] a [SEP]", "[MASK]ed",
                           "\xC3\x89"
                           "cole Polytechnique",
                           "\xE4\xB8\xAD\xE6\x96\x87 x", "don't  stop\tnow",
                           "\xEF\xBF\xBD\x01 control", "unaffable", ""}) {
    EXPECT_EQ(built.encode(text), whole.encode(text)) << text;
  }
  const fs::path novel = data_root() / "text/wikitext-2-raw.test.txt";
  SKIP_WITHOUT(novel);
  const std::string text = read_text_file(novel.string()).substr(0, 100000);
  const std::string cut = text.substr(0, text.rfind(' '));
  EXPECT_EQ(built.encode(cut), whole.encode(cut));
}

TEST(WordPiece, TheConfigSwitches) {
  const TemporaryFolder folder;
  EXPECT_EQ(ids_with(folder, "{}", "Hellos!"), (Ids{5, 6, 11}));
  EXPECT_EQ(ids_with(folder, R"({"do_lower_case": false})", "Hellos!"), (Ids{7, 6, 11}));
  EXPECT_EQ(ids_with(folder, "{}", "h\xC3\xA9llo"), Ids{5});
  EXPECT_EQ(ids_with(folder, R"({"strip_accents": false})", "h\xC3\xA9llo"), Ids{8});
  EXPECT_EQ(ids_with(folder, "{}", "\xE4\xB8\xAD\xE6\x96\x87"), (Ids{9, 1}));
  EXPECT_EQ(ids_with(folder, R"({"tokenize_chinese_chars": false})", "\xE4\xB8\xAD\xE6\x96\x87"),
            Ids{10});
  fs::remove(folder.path() + "/tokenizer_config.json");
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("hello"), (Ids{2, 5, 3}));
}

TEST(WordPiece, SpecialTokensByOtherNames) {
  const TemporaryFolder folder;
  folder.write("vocab.txt", "<s>\n</s>\n<unk>\r\nhello\n");
  folder.write("tokenizer_config.json", R"({"cls_token": "<s>", "sep_token": {"content": "</s>"},
                                            "unk_token": "<unk>"})");
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("hello you"), (Ids{0, 3, 2, 1}));
}

TEST(WordPiece, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  const auto load_with = [&](std::string_view vocabulary, const char* config) {
    folder.write("vocab.txt", vocabulary);
    folder.write("tokenizer_config.json", config);
    return error_of([&] { Tokenizer::load(folder.path()); });
  };
  EXPECT_EQ(load_with(kVocabulary, "{}"), "no error");
  const std::string missing = load_with("[UNK]\n[SEP]\nhello\n", "{}");
  expect_part(missing, "vocab.txt: expected [CLS], which is its cls_token");
  expect_part(load_with("[UNK]\n[CLS]\n[SEP]\n\xFF\n", "{}"), "vocab.txt byte 18: ");
  EXPECT_NE(load_with("", "{}"), "no error");
  expect_part(load_with(kVocabulary, "{"), "tokenizer_config.json: ");
}

TEST(WordPiece, SurvivesDamage) {
  const TemporaryFolder folder;
  std::mt19937 random(20260103);
  folder.write("tokenizer_config.json", R"({"do_lower_case": false})");
  for (int trial = 0; trial < 500; ++trial) {
    std::string bytes = kVocabulary;
    for (auto changes = 1 + random() % 4; changes > 0; --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    folder.write("vocab.txt", bytes);
    error_of([&] { Tokenizer::load(folder.path()).encode("hellos [MASK]"); });
  }
}

// What stands around a text is known as such, and neither truncation nor padding is part of it.
TEST(WordPiece, PartsOfAnEncoding) {
  const TemporaryFolder folder;
  folder.write("vocab.txt", kVocabulary);
  const Tokenizer plain = Tokenizer::load(folder.path());
  Tokenizer::Around around;
  EXPECT_EQ(plain.encode("[CLS] hello [SEP]", around), (Ids{2, 5, 3}));
  EXPECT_EQ(around.before, Ids{2});
  EXPECT_EQ(around.after, Ids{3});

  auto saved = nlohmann::json::parse(
      slurp(fs::path(HEADGAUGE_SOURCE_DIR) / "tests/tokenize/corpus/word_piece.json"));
  saved["truncation"] = {
      {"max_length", 3}, {"strategy", "LongestFirst"}, {"stride", 0}, {"direction", "Right"}};
  ASSERT_FALSE(saved["padding"].is_null());
  folder.write("tokenizer.json", saved.dump());
  const Tokenizer cut = Tokenizer::load(folder.path());
  const Ids once = cut.encode("one", around);
  ASSERT_FALSE(once.empty());
  Ids twenty;
  for (int i = 0; i < 20; ++i) twenty.insert(twenty.end(), once.begin(), once.end());
  std::string text;
  for (int i = 0; i < 20; ++i) text += "one ";
  EXPECT_EQ(cut.encode(text, around), twenty);
  EXPECT_EQ(around.before.size(), 1u);
  EXPECT_EQ(around.after.size(), 1u);
}

}  // namespace
}  // namespace headgauge
