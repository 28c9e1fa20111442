#include "headgauge/tokenize.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <thread>

#include "faults.hpp"
#include "files.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A tokenizer.json of whole words; `changes` is merged into it.
std::string word_tokenizer(const json& changes = json::object()) {
  json file = json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
    "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
    "post_processor": null, "decoder": null,
    "model": {"type": "WordLevel", "unk_token": "<UNK>",
              "vocab": {"one": 0, "two": 1, "three": 2, "<UNK>": 3}}})");
  file.merge_patch(changes);
  return file.dump();
}

TEST(Tokenizer, Gpt2AgreesWithLlamaCpp) {
  const fs::path folder = data_root() / "tokenizers/gpt2";
  SKIP_WITHOUT(folder);
  const Tokenizer tokenizer = Tokenizer::load(folder.string());
  EXPECT_EQ(tokenizer.vocabulary(), 50257);
  const auto vectors = read_vectors("gpt-2");
  ASSERT_GE(vectors.size(), 40u);
  for (const Vector& v : vectors) EXPECT_EQ(tokenizer.encode(v.text), v.ids) << v.text;
}

TEST(Tokenizer, BertAgreesWithLlamaCpp) {
  const fs::path folder = data_root() / "tokenizers/bert-base-uncased";
  SKIP_WITHOUT(folder);
  const Tokenizer tokenizer = Tokenizer::load(folder.string());
  EXPECT_EQ(tokenizer.vocabulary(), 30522);
  const auto vectors = read_vectors("bert-bge");
  ASSERT_GE(vectors.size(), 40u);
  for (const Vector& v : vectors) {
    EXPECT_EQ(tokenizer.encode(v.text, false), v.ids) << v.text;
    Ids framed = {101};
    framed.insert(framed.end(), v.ids.begin(), v.ids.end());
    framed.push_back(102);
    EXPECT_EQ(tokenizer.encode(v.text), framed) << v.text;
  }
}

TEST(Tokenizer, VocabularyAndMergesGiveTheSameIdsAsTokenizerJson) {
  const fs::path folder = data_root() / "tokenizers/gpt2";
  SKIP_WITHOUT(folder);
  const TemporaryFolder parts;
  for (const char* name : {"vocab.json", "merges.txt"}) {
    fs::copy(folder / name, fs::path(parts.path()) / name);
  }
  const Tokenizer whole = Tokenizer::load(folder.string());
  const Tokenizer built = Tokenizer::load(parts.path());
  EXPECT_EQ(built.path(), parts.path() + "/vocab.json");
  EXPECT_EQ(built.vocabulary(), whole.vocabulary());
  for (const Vector& v : read_vectors("gpt-2")) {
    EXPECT_EQ(built.encode(v.text), whole.encode(v.text)) << v.text;
  }
  for (const char* text : {"a<|endoftext|>b", "<|endoftext|>", " <|endoftext|> ", "<|endof"}) {
    EXPECT_EQ(built.encode(text), whole.encode(text)) << text;
  }
  EXPECT_EQ(built.encode("<|endoftext|>"), Ids{50256});
  EXPECT_EQ(built.piece(995), " world");
  const fs::path novel = data_root() / "text/wikitext-2-raw.test.txt";
  SKIP_WITHOUT(novel);
  const std::string text = read_text_file(novel.string()).substr(0, 100000);
  const Ids ids = whole.encode(text.substr(0, text.rfind(' ')));
  EXPECT_EQ(built.encode(text.substr(0, text.rfind(' '))), ids);
  EXPECT_GT(ids.size(), 20000u);
}

TEST(Tokenizer, PromptsOfTransformerExplainer) {
  const fs::path folder = data_root() / "gpt2-124m-attention";
  SKIP_WITHOUT(folder);
  const Tokenizer tokenizer = Tokenizer::load((data_root() / "tokenizers/gpt2").string());
  for (const char* name : {"prompt0.json", "prompt1.json", "prompt2.json"}) {
    const json prompt = json::parse(slurp(folder / name));
    const Ids ids = tokenizer.encode(prompt.at("prompt").get<std::string>());
    EXPECT_EQ(ids, prompt.at("token_ids").get<Ids>());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(tokenizer.piece(ids[i]), prompt.at("tokens")[i].get<std::string>());
    }
  }
}

// What Hugging Face's own Python packages gave (tests/golden/make_tokenizer_golden.py).
TEST(Tokenizer, GoldenStrings) {
  const fs::path golden = fs::path(HEADGAUGE_SOURCE_DIR) / "tests/golden/tokenizer";
  for (const char* name : {"gpt2", "capp-gpt"}) {
    const json file = json::parse(slurp(golden / (std::string(name) + ".json")));
    const fs::path source = data_root() / file.at("source")[0].get<std::string>();
    SKIP_WITHOUT(source);
    const Tokenizer tokenizer = Tokenizer::load(source.parent_path().string());
    ASSERT_GE(file.at("strings").size(), 5u);
    for (const json& entry : file.at("strings")) {
      const auto text = entry.at("text").get<std::string>();
      if (entry.at("ids").is_null()) {
        const std::string message = error_of([&] { tokenizer.encode(text); });
        expect_part(message, entry.at("error").get<std::string>());
      } else {
        EXPECT_EQ(tokenizer.encode(text), entry.at("ids").get<Ids>()) << name << ": " << text;
      }
    }
  }
}

// The pieces of a text by token, which are the text again.
std::vector<std::string> texts_of(const Tokenizer& tokenizer, const std::string& text) {
  Tokenizer::Around around, plain;
  std::vector<std::string> texts;
  const Ids ids = tokenizer.encode(text, around, texts);
  EXPECT_EQ(ids, tokenizer.encode(text, plain)) << text;
  EXPECT_EQ(around.before, plain.before);
  EXPECT_EQ(texts.size(), ids.size());
  std::string joined;
  for (const std::string& piece : texts) joined += piece;
  EXPECT_EQ(text.substr(0, joined.size()), joined);
  EXPECT_EQ(text.find_first_not_of(" \t\r\n", joined.size()), text.npos) << text;
  return texts;
}

TEST(Tokenizer, TextsOfTokensAreTheTextAgain) {
  using Texts = std::vector<std::string>;
  const fs::path folder = data_root() / "tokenizers/gpt2";
  SKIP_WITHOUT(folder);
  const Tokenizer gpt2 = Tokenizer::load(folder.string());
  EXPECT_EQ(texts_of(gpt2, "Hello  world\n\nagain"),
            (Texts{"Hello", " ", " world", "\n", "\n", "again"}));
  // A character of three tokens goes to the first, whole.
  const Texts bat = texts_of(gpt2, "a \xF0\x9F\xA6\x87 b");
  EXPECT_EQ(bat.front(), "a");
  EXPECT_EQ(bat.back(), " b");
  EXPECT_EQ(bat[1].find("\xF0\x9F\xA6\x87") != std::string::npos, true);
  const Tokenizer bert = Tokenizer::load((data_root() / "tokenizers/bert-base-uncased").string());
  // What lies between two tokens goes to the later one; the text keeps its case.
  EXPECT_EQ(texts_of(bert, "The Unaffable,  CAT"),
            (Texts{"The", " Una", "ffa", "ble", ",", "  CAT"}));
  // A byte a token.
  const Tokenizer llama = Tokenizer::load((data_root() / "models/stories260k").string());
  const Texts bytes = texts_of(llama, "a \xF0\x9F\xA6\x87 b");
  EXPECT_EQ(std::ranges::count(bytes, "\xF0\x9F\xA6\x87"), 1);
  for (const Vector& v : read_vectors("gpt-2")) texts_of(gpt2, v.text);
  for (const Vector& v : read_vectors("bert-bge")) texts_of(bert, v.text);
}

TEST(Tokenizer, PiecesCanBeShown) {
  const fs::path folder = data_root() / "tokenizers/gpt2";
  SKIP_WITHOUT(folder);
  const Tokenizer tokenizer = Tokenizer::load(folder.string());
  EXPECT_EQ(tokenizer.piece(15496), "Hello");
  EXPECT_EQ(tokenizer.piece(198), "\n");
  EXPECT_EQ(tokenizer.piece(50256), "<|endoftext|>");
  // Half of a character has no text of its own: its entry in the vocabulary stands for it.
  EXPECT_EQ(tokenizer.piece(222), "\xC4\xA2");
  EXPECT_EQ(tokenizer.piece(50257), "");
  EXPECT_EQ(tokenizer.piece(-1), "");
}

TEST(Tokenizer, TruncationAndPaddingAreOff) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", word_tokenizer(json::parse(R"({
    "truncation": {"max_length": 2, "strategy": "LongestFirst", "stride": 0,
                   "direction": "Right"},
    "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": null,
                "pad_id": 3, "pad_type_id": 0, "pad_token": "<UNK>"}})")));
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  EXPECT_EQ(tokenizer.encode("one two three"), (Ids{0, 1, 2}));
  EXPECT_EQ(tokenizer.encode("one"), Ids{0});
  EXPECT_EQ(tokenizer.encode(""), Ids{});
}

TEST(Tokenizer, DropoutIsOff) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", word_tokenizer(json::parse(R"({
    "model": {"type": "BPE", "dropout": 0.9, "unk_token": null,
              "vocab": {"o": 0, "n": 1, "on": 2, "e": 3, "one": 4, "two": null, "three": null,
                        "<UNK>": null},
              "merges": ["o n", "on e"]}})")));
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  for (int i = 0; i < 50; ++i) ASSERT_EQ(tokenizer.encode("one on"), (Ids{4, 2}));
}

TEST(Tokenizer, WordsThatTheVocabularyDoesNotKnow) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", word_tokenizer());
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("one four"), (Ids{0, 3}));
  const std::string path = folder.write(
      "tokenizer.json", word_tokenizer(json::parse(R"({"model": {"vocab": {"<UNK>": null}}})")));
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  EXPECT_EQ(error_of([&] { tokenizer.encode("one four"); }).rfind(path + ": expected a vocab", 0),
            0u);
}

TEST(Tokenizer, RefusesTextThatIsNotUtf8) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", word_tokenizer());
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  expect_part(error_of([&] { tokenizer.encode("one \xFF"); }), "text byte 4:");
}

TEST(Tokenizer, SaysWhatItLookedFor) {
  const TemporaryFolder folder;
  const auto load = [&] { Tokenizer::load(folder.path()); };
  const std::string wanted =
      folder.path() +
      ": expected a tokenizer.json, a vocab.json and a merges.txt, or a vocab.txt, found ";
  EXPECT_EQ(error_of(load).rfind(wanted + "none of them; ", 0), 0u) << error_of(load);
  folder.write("merges.txt", "#version: 0.2\no n\n");
  EXPECT_EQ(error_of(load).rfind(wanted + "merges.txt without vocab.json; ", 0), 0u);
  fs::remove(folder.path() + "/merges.txt");
  folder.write("vocab.json", "{}");
  EXPECT_EQ(error_of(load).rfind(wanted + "vocab.json without merges.txt; ", 0), 0u);
  for (const char* broken : {"{\"model\": ", "version https://git-lfs.github.com/spec/v1\n"}) {
    const std::string path = folder.write("tokenizer.json", broken);
    EXPECT_EQ(error_of(load).rfind(path + ": expected ", 0), 0u) << error_of(load);
  }
  expect_part(error_of(load), "found a pointer of Git LFS");
}

TEST(Tokenizer, BrokenVocabularyAndMerges) {
  const TemporaryFolder folder;
  const auto load_with = [&](const char* vocabulary, const char* merges) {
    folder.write("vocab.json", vocabulary);
    folder.write("merges.txt", merges);
    return error_of([&] { Tokenizer::load(folder.path()); });
  };
  const char* vocabulary = R"({"o": 0, "n": 1, "on": 2})";
  EXPECT_EQ(load_with(vocabulary, "#version: 0.2\no n\n"), "no error");
  EXPECT_EQ(load_with(vocabulary, "#version: 0.2\r\no n\r\n"), "no error");
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("on"), Ids{2});
  expect_part(load_with(vocabulary, "o n\no n e\n"), "merges.txt line 2");
  for (const char* broken : {"", "{", "[]", "null", "{\"o\": -1}", "{\"o\": \"x\"}"}) {
    EXPECT_NE(load_with(broken, "o n\n"), "no error") << broken;
  }
  EXPECT_NE(load_with(vocabulary, "o x\n"), "no error") << "a pair outside the vocabulary";
  EXPECT_NE(load_with(vocabulary, "o \xFF\n"), "no error");
}

// A template that names a token it does not define makes the library panic when it encodes.
TEST(Tokenizer, APanicOfTheLibraryIsAnErrorAndPrintsNothing) {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", word_tokenizer(json::parse(R"({"post_processor": {
    "type": "TemplateProcessing", "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                                           {"Sequence": {"id": "B", "type_id": 1}}],
    "single": [{"SpecialToken": {"id": "", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {}}})")));
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  ::testing::internal::CaptureStderr();
  const std::string message = error_of([&] { tokenizer.encode("one"); });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  expect_part(message, "the tokenizers library failed: ");
}

TEST(Tokenizer, EncodesFromSeveralThreads) {
  const fs::path folder = data_root() / "tokenizers/gpt2";
  SKIP_WITHOUT(folder);
  const Tokenizer tokenizer = Tokenizer::load(folder.string());
  const auto vectors = read_vectors("gpt-2");
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (const Vector& v : vectors) count += tokenizer.encode(v.text) != v.ids;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace headgauge
