// Tokenizers of the tests.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headgauge/files.hpp"
#include "headgauge/tokenize.hpp"
#include "test_data.hpp"

namespace headgauge {

inline constexpr Index kDemoVocabulary = 4096;

// The tokenizer of the demo model.
inline const Tokenizer& demo_tokenizer() {
  static const Tokenizer demo = Tokenizer::load(testing::source_path("demo/model"));
  return demo;
}

// Returns the tokenizer of a tokenizer.json.
inline Tokenizer made_of(const nlohmann::json& file) {
  const testing::TemporaryFolder folder("tokenizer");
  AtomicFile out(folder / "tokenizer.json");
  out.write(file.dump());
  out.commit();
  return Tokenizer::load(folder.path());
}

// A tokenizer so small that its tokens can be worked out by hand. Like those of Llama 2, it puts
// <s> and a space before a text, and its decoder takes one space away. Each character is a token,
// but "ab" is one.
namespace by_hand {

inline constexpr int kStart = 0, kSpace = 1, kBreak = 2, kBoth = 97;
inline constexpr Index kVocabulary = 98;

inline int id_of(char c) {
  if (c == ' ') return kSpace;
  return c == '\n' ? kBreak : c - '!' + 3;
}

inline std::vector<int> tokens(const std::string& text) {
  std::vector<int> ids = {kStart, kSpace};
  for (const char c : text) {
    if (c == 'b' && ids.back() == id_of('a')) {
      ids.back() = kBoth;
    } else {
      ids.push_back(id_of(c));
    }
  }
  return ids;
}

// Returns the text of ids that begin with <s> and a space.
inline std::string text(const std::vector<int>& ids) {
  std::string text;
  for (std::size_t i = 2; i < ids.size(); ++i) {
    if (ids[i] == kBoth) {
      text += "ab";
    } else {
      text += ids[i] == kSpace   ? ' '
              : ids[i] == kBreak ? '\n'
                                 : static_cast<char>(ids[i] - 3 + '!');
    }
  }
  return text;
}

inline const Tokenizer& tokenizer() {
  static const Tokenizer made = [] {
    const std::string mark = "\u2581";
    nlohmann::json vocabulary = {{"<s>", kStart}, {mark, kSpace}, {"\n", kBreak}, {"ab", kBoth}};
    for (char c = '!'; c <= '~'; ++c) vocabulary[std::string(1, c)] = id_of(c);
    auto file = nlohmann::json::parse(R"({"version": "1.0",
      "added_tokens": [{"id": 0, "content": "<s>", "single_word": false, "lstrip": false,
                        "rstrip": false, "normalized": false, "special": true}],
      "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": "\u2581"},
        {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
      "post_processor": {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                   {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
      "decoder": {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
      "model": {"type": "BPE", "merges": ["a b"]}})");
    file["model"]["vocab"] = vocabulary;
    return made_of(file);
  }();
  return made;
}

}  // namespace by_hand
}  // namespace headgauge
