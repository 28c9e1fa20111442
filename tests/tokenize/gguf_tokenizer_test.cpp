// Tokenizers from the metadata of GGUF files.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "checkpoint/made_file.hpp"
#include "files.hpp"
#include "headgauge/files.hpp"
#include "headgauge/tokenize.hpp"
#include "made_gguf.hpp"
#include "tokenize/tokenizer_json.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::expect_error;
using testing::MadeGguf;

fs::path vocabulary_file(const std::string& name) {
  return data_root() / "tokenizers/vectors" / ("ggml-vocab-" + name + ".gguf");
}

class GgufTokenizer : public ::testing::TestWithParam<const char*> {};

TEST_P(GgufTokenizer, AgreesWithLlamaCpp) {
  const fs::path file = vocabulary_file(GetParam());
  SKIP_WITHOUT(file);
  const Tokenizer tokenizer = Tokenizer::load(file.string());
  const auto vectors = read_vectors(GetParam());
  ASSERT_GE(vectors.size(), 40u);
  for (const Vector& v : vectors) EXPECT_EQ(tokenizer.encode(v.text, false), v.ids) << v.text;
}

INSTANTIATE_TEST_SUITE_P(Vectors, GgufTokenizer,
                         ::testing::Values("gpt-2", "bert-bge", "llama-spm"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(GgufTokenizer, PutsAroundATextWhatTheFileSays) {
  const fs::path bert = vocabulary_file("bert-bge");
  SKIP_WITHOUT(bert);
  EXPECT_EQ(Tokenizer::load(bert.string()).encode("hello"), (Ids{101, 7592, 102}));
  const Tokenizer llama = Tokenizer::load(vocabulary_file("llama-spm").string());
  EXPECT_EQ(llama.encode("Hello"), (Ids{1, 15043}));
  EXPECT_EQ(llama.piece(15043), "Hello");
  EXPECT_EQ(Tokenizer::load(vocabulary_file("gpt-2").string()).encode("Hello"), Ids{15496});
}

// The bytes of a file with another text in place of the one that `key` has.
std::string with_text(std::string bytes, const std::string& key, const std::string& from,
                      const std::string& to) {
  const std::size_t at = bytes.find(MadeGguf::string(key)) + 8 + key.size() + 4;
  EXPECT_EQ(bytes.substr(at, 8 + from.size()), MadeGguf::string(from));
  return bytes.replace(at, 8 + from.size(), MadeGguf::string(to));
}

TEST(GgufTokenizer, CutsATextAsThePreTokenizerSays) {
  const fs::path file = vocabulary_file("gpt-2");
  SKIP_WITHOUT(file);
  const std::string bytes = slurp(file);
  const TemporaryFolder folder;
  for (const char* name : {"gpt-2", "smollm", "starcoder", "llama-bpe", "qwen2"}) {
    const std::string path =
        folder.write("made.gguf", with_text(bytes, "tokenizer.ggml.pre", "gpt-2", name));
    const Tokenizer tokenizer = Tokenizer::load(path);
    EXPECT_EQ(Tokenizer::kind(path), std::string("BPE (GGUF, pre-tokenizer ") + name + ")");
    expect_golden(tokenizer, name, false);
  }
}

// Names that llama.cpp treats as one of those above.
TEST(GgufTokenizer, KnowsTheOtherNamesOfItsPreTokenizers) {
  const std::pair<std::string, std::vector<std::string>> others[] = {
      {"gpt-2", {"phi-2", "gigachat", "a.x-4.0", "mellum", "exaone4"}},
      {"smollm", {"starcoder", "refact", "codeshell", "exaone", "minerva-7b", "mellum2"}},
      {"llama-bpe",
       {"llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano"}},
      {"qwen2", {"deepseek-r1-qwen", "kormo", "f2llmv2", "megrez"}}};
  const TemporaryFolder folder;
  const auto made = [&](const std::string& name) {
    MadeGguf file;
    file.add("tokenizer.ggml.model", "gpt2")
        .add("tokenizer.ggml.tokens", std::vector<std::string>{"1", "2", "12", "'", "S", "'S", "s",
                                                               "\xC4\xA0", "<s>", "\xC4\x8A"})
        .add("tokenizer.ggml.merges", std::vector<std::string>{"1 2", "' S"})
        .add("tokenizer.ggml.bos_token_id", std::uint32_t{8})
        .add("tokenizer.ggml.pre", name);
    return Tokenizer::load(folder.write("made.gguf", file.bytes())).encode("12'S1\n\n 's 121");
  };
  std::set<std::vector<int>> kinds;
  for (const auto& [name, same] : others) {
    const std::vector<int> ids = made(name);
    kinds.insert(ids);
    for (const std::string& other : same) EXPECT_EQ(made(other), ids) << other;
  }
  EXPECT_EQ(kinds.size(), std::size(others)) << "the text does not tell them apart";
}

TEST(GgufTokenizer, OfSmolLm2) {
  const std::string file = testing::smollm_path();
  if (!testing::exists(file)) GTEST_SKIP() << testing::kNoSmolLm;
  const Tokenizer tokenizer = Tokenizer::load(file);
  EXPECT_EQ(tokenizer.vocabulary(), 49152);
  expect_golden(tokenizer, "SmolLM2");
  EXPECT_EQ(tokenizer.encode("<|im_start|>user"), (Ids{1, 4093}));
}

// The texts for tokenizers of llama.cpp, by transformers (tests/golden/make_gemma_golden.py).
TEST(GgufTokenizer, OfGemma3) {
  const std::string file = testing::gemma3_path();
  if (!testing::exists(file)) GTEST_SKIP() << testing::kNoGemma3;
  SKIP_WITHOUT(vocabulary_file("llama-spm"));
  const json golden =
      json::parse(slurp(testing::source_path("tests/golden/gguf/gemma3.json")))["texts"];
  std::map<std::string, Ids> expected;
  for (const json& text : golden) expected[text["sha256"]] = text["ids"].get<Ids>();
  const Tokenizer tokenizer = Tokenizer::load(file);
  std::set<std::string> seen;
  for (const char* name : {"gpt-2", "bert-bge", "llama-spm"}) {
    for (const Vector& v : read_vectors(name)) {
      if (v.text.empty()) continue;
      const std::string sum = text_sha256(v.text);
      EXPECT_EQ(tokenizer.encode(v.text), expected[sum]) << v.text;
      seen.insert(sum);
    }
  }
  EXPECT_EQ(seen.size(), expected.size());
}

MadeGguf small_bpe() {
  MadeGguf made;
  made.add("tokenizer.ggml.model", "gpt2")
      .add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab", "<s>"})
      .add("tokenizer.ggml.merges", std::vector<std::string>{"a b"})
      .add("tokenizer.ggml.bos_token_id", std::uint32_t{3});
  return made;
}

TEST(GgufTokenizer, IsRefusedByName) {
  const TemporaryFolder folder;
  const auto refused = [&](ErrorKind kind, std::vector<std::string> parts, const MadeGguf& made) {
    const std::string path = folder.write("made.gguf", made.bytes());
    parts.insert(parts.begin(), "made.gguf: metadata tokenizer.ggml.");
    expect_error(kind, parts, [&] { Tokenizer::load(path); });
    return Tokenizer::kind(path);
  };
  EXPECT_EQ(refused(ErrorKind::bad_input, {"model", "a tokenizer", "none"}, MadeGguf()), "none");
  EXPECT_EQ(refused(ErrorKind::unsupported, {"model", "gpt2", "\"rwkv\""},
                    MadeGguf().add("tokenizer.ggml.model", "rwkv")),
            "unknown kind (GGUF)");
  refused(ErrorKind::bad_input, {"pre", "a text", "none"}, small_bpe());
  EXPECT_EQ(
      refused(ErrorKind::unsupported, {"pre", "smollm", "\"tekken\"", "headgauge does not know"},
              small_bpe().add("tokenizer.ggml.pre", "tekken")),
      "BPE (GGUF, pre-tokenizer tekken)");
  const MadeGguf bpe = small_bpe().add("tokenizer.ggml.pre", "gpt-2");
  refused(ErrorKind::bad_input, {"token_type", "4 numbers", "a list of 1 numbers"},
          MadeGguf(bpe).add("tokenizer.ggml.token_type", std::vector<std::int32_t>{1}));
  refused(ErrorKind::bad_input, {"token_type", "1 to 6", "9"},
          MadeGguf(bpe).add("tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 1, 9}));
  refused(ErrorKind::bad_input, {"eos_token_id", "0 to 3", "7"},
          MadeGguf(bpe)
              .add("tokenizer.ggml.eos_token_id", std::uint32_t{7})
              .add("tokenizer.ggml.add_eos_token", true));
  refused(ErrorKind::bad_input, {"add_bos_token", "true or false", "1"},
          MadeGguf(bpe).add("tokenizer.ggml.add_bos_token", std::uint32_t{1}));
  MadeGguf tokens;
  tokens.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
  refused(ErrorKind::bad_input, {"tokens", "a list of texts", "none"}, tokens);
  refused(ErrorKind::bad_input, {"tokens", "UTF-8"},
          MadeGguf(tokens).add("tokenizer.ggml.tokens", std::vector<std::string>{"\xff"}));
  tokens.add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"});
  refused(ErrorKind::bad_input, {"merges", "a list of texts", "none"}, tokens);
  refused(ErrorKind::bad_input, {"merges", "two tokens and a space", "\"ab\""},
          MadeGguf(tokens).add("tokenizer.ggml.merges", std::vector<std::string>{"ab"}));
  MadeGguf pieces;
  pieces.add("tokenizer.ggml.model", "llama")
      .add("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"});
  refused(ErrorKind::bad_input, {"scores", "none"}, pieces);
  refused(ErrorKind::bad_input, {"scores", "finite"},
          pieces.add("tokenizer.ggml.scores", std::vector<float>{0, 0, NAN}));
}

MadeGguf sentence_piece(const std::vector<std::string>& tokens, const std::vector<float>& scores) {
  MadeGguf made;
  made.add("tokenizer.ggml.model", "llama")
      .add("tokenizer.ggml.tokens", tokens)
      .add("tokenizer.ggml.scores", scores)
      .add("tokenizer.ggml.add_bos_token", false)
      .add("tokenizer.ggml.add_space_prefix", false);
  return made;
}

// Merges the neighbours whose token has the highest score, the first of them if several have it.
Ids merged_by_score(const std::string& text, const std::vector<std::string>& tokens,
                    const std::vector<float>& scores) {
  std::vector<std::string> parts;
  for (const char c : text) parts.emplace_back(1, c);
  const auto id_of = [&](const std::string& token) {
    return std::ranges::find(tokens, token) - tokens.begin();
  };
  while (true) {
    std::size_t best = parts.size();
    float highest = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto id = id_of(parts[i] + parts[i + 1]);
      if (id == std::ssize(tokens) || (best < parts.size() && scores[id] <= highest)) continue;
      best = i;
      highest = scores[id];
    }
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  Ids ids;
  for (const std::string& part : parts) ids.push_back(static_cast<int>(id_of(part)));
  return ids;
}

TEST(GgufTokenizer, MergesWhatHasTheHighestScoreWhateverTheOrderOfTheScores) {
  std::mt19937 random(5);
  const auto drawn = [&](std::size_t length) {
    std::string text;
    while (text.size() < length) text += static_cast<char>('a' + random() % 3);
    return text;
  };
  const TemporaryFolder folder;
  for (int vocabulary = 0; vocabulary < 9; ++vocabulary) {
    std::vector<std::string> tokens = {"a", "b", "c"};
    while (tokens.size() < 120) {
      const std::string token = drawn(2 + random() % 5);
      if (std::ranges::find(tokens, token) == tokens.end()) tokens.push_back(token);
    }
    std::vector<float> scores;
    for (const std::string& token : tokens) {
      // Long tokens first, short ones first, or in any order; all scores differ.
      const float size = vocabulary % 3 == 0 ? 1 : vocabulary % 3 == 1 ? -1 : 0;
      scores.push_back(size * static_cast<float>(token.size()) +
                       static_cast<float>(random() % (1 << 20)) / static_cast<float>(1 << 20));
    }
    const Tokenizer tokenizer =
        Tokenizer::load(folder.write("made.gguf", sentence_piece(tokens, scores).bytes()));
    for (int text = 0; text < 5; ++text) {
      const std::string one = drawn(80);
      ASSERT_EQ(tokenizer.encode(one), merged_by_score(one, tokens, scores)) << one;
    }
  }
}

TEST(GgufTokenizer, TakesAsMuchAsItsTokens) {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::size_t bytes = 0;
  for (std::size_t size = 1; size <= 400; bytes += size++) {
    tokens.emplace_back(size, 'a');
    scores.push_back(static_cast<float>(size));
  }
  const std::string content = sentence_piece(tokens, scores).bytes();
  EXPECT_LT(gguf_tokenizer_json(Gguf::view(std::as_bytes(std::span(content)), "made")).size(),
            3 * bytes);
  const TemporaryFolder folder;
  const std::string path = folder.write("made.gguf", content);
  EXPECT_EQ(Tokenizer::load(path).encode(std::string(350, 'a')), Ids{349});

  const auto refused = [&](const std::vector<std::string>& parts) {
    const std::string large = sentence_piece(tokens, scores).bytes();
    expect_error(parts, [&] { Tokenizer::load(folder.write("made.gguf", large)); });
  };
  tokens.back() = std::string(2049, 'a');
  refused({"tokenizer.ggml.tokens", "tokens of at most 2048 bytes", "one of 2049"});
  tokens.assign(9000, std::string(2000, 'a'));
  refused({"tokenizer.ggml.tokens", "at most 16.8 MB", "18.1 MB"});
}

TEST(GgufTokenizer, TakesBosWhereTheFileAsksForIt) {
  const TemporaryFolder folder;
  MadeGguf made = small_bpe().add("tokenizer.ggml.pre", "gpt-2");
  EXPECT_EQ(Tokenizer::load(folder.write("made.gguf", made.bytes())).encode("ab"), Ids{2});
  made.add("tokenizer.ggml.add_bos_token", true);
  EXPECT_EQ(Tokenizer::load(folder.write("made.gguf", made.bytes())).encode("ab"), (Ids{3, 2}));
  made = small_bpe().add("tokenizer.ggml.pre", "llama-bpe");  // which begins with it
  EXPECT_EQ(Tokenizer::load(folder.write("made.gguf", made.bytes())).encode("ab"), (Ids{3, 2}));
}

}  // namespace
}  // namespace headgauge
