// What the files of a folder say about its tokenizer besides the vocabulary.
#include <nlohmann/json.hpp>

#include "checkpoint/made_file.hpp"
#include "files.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::expect_error;

class FolderTokenizerTest : public ::testing::Test {
 protected:
  void write_pair(const json& config = json::object()) {
    folder_.write("vocab.json", R"({"a": 0, "b": 1, "c": 2, "d": 3, "A": 4, "\u0120": 5, "ab": 6,
                                    "\u0120a": 7, "1": 8, "12": 9, "2": 10, "e\u0301": 11})");
    folder_.write("merges.txt", "#version: 0.2\na b\n\xC4\xA0 a\n1 2\n");
    folder_.write("tokenizer_config.json", config.dump());
  }
  void write_whole(const json& config, const json& changes = json::object()) {
    json file = json::parse(R"({"version": "1.0", "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                          "use_regex": true},
        "post_processor": null, "decoder": null,
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "A": 2, "B": 3, "\u0120": 4, "x": 5},
                  "merges": []}})");
    file.merge_patch(changes);
    folder_.write("tokenizer.json", file.dump());
    folder_.write("tokenizer_config.json", config.dump());
  }
  Ids ids(const char* text) const { return Tokenizer::load(folder_.path()).encode(text); }
  void refused(ErrorKind kind, const std::vector<std::string>& parts) const {
    expect_error(kind, parts, [&] { Tokenizer::load(folder_.path()); });
  }

  TemporaryFolder folder_;
};

const json& table() {
  static const json all =
      json::parse(slurp(testing::source_path("tests/golden/tokenizer/classes.json")));
  return all;
}

TEST_F(FolderTokenizerTest, TheClassDecidesHowVocabularyAndMergesSplit) {
  for (const std::string name : table().at("vocab.json and merges.txt")) {
    for (const char* end : {"Tokenizer", "TokenizerFast"}) {
      write_pair({{"tokenizer_class", name + end}});
      // Qwen2 splits digits; GPT-2 does not.
      EXPECT_EQ(ids("12"), name == "Qwen2" ? (Ids{8, 10}) : Ids{9}) << name << end;
    }
  }
  write_pair();
  EXPECT_EQ(ids("12"), Ids{9});
  for (const char* config : {R"({"model_type": "qwen2"})", R"({"model_type": "qwen3"})",
                             R"({"model_type": "llama", "tokenizer_class": "Qwen2Tokenizer"})"}) {
    folder_.write("config.json", config);
    EXPECT_EQ(ids("12"), (Ids{8, 10})) << config;
  }
}

// A plain implementation made the expected ids (tests/golden/make_pre_tokenizer_golden.py).
TEST_F(FolderTokenizerTest, PairsSplitAsPreTokenizersOfGgufDo) {
  const fs::path source = data_root() / "tokenizers/gpt2";
  SKIP_WITHOUT(source);
  for (const char* name : {"vocab.json", "merges.txt"}) {
    fs::copy(source / name, fs::path(folder_.path()) / name);
  }
  const json golden =
      json::parse(slurp(testing::source_path("tests/golden/gguf/pre_tokenizers.json")));
  for (const auto& [name, pre] : {std::pair("CodeGen", "gpt-2"), std::pair("Qwen2", "qwen2")}) {
    folder_.write("tokenizer_config.json",
                  json{{"tokenizer_class", name + std::string("Tokenizer")}}.dump());
    const Tokenizer tokenizer = Tokenizer::load(folder_.path());
    for (std::size_t i = 0; i < golden["texts"].size(); ++i) {
      const auto text = golden["texts"][i].get<std::string>();
      EXPECT_EQ(tokenizer.encode(text), golden["ids"][pre][i].get<Ids>()) << name << ": " << text;
    }
  }
}

TEST_F(FolderTokenizerTest, EveryOtherClassIsRefusedByName) {
  const json classes = table();
  ASSERT_GE(classes["refused"].size(), 100u);
  for (const bool pair : {true, false}) {
    if (pair) {
      write_pair();
    } else {
      fs::remove(folder_.path() + "/vocab.json");
      folder_.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n");
    }
    for (const std::string name : classes["refused"]) {
      folder_.write("tokenizer_config.json", json{{"tokenizer_class", name + "Tokenizer"}}.dump());
      refused(ErrorKind::unsupported,
              {folder_.path() + ": tokenizer_class: expected a class whose vocabulary headgauge",
               ", found \"" + name + "\"; save a tokenizer.json"});
    }
  }
  write_pair({{"tokenizer_class", "BertTokenizer"}});
  refused(ErrorKind::unsupported, {"GPT2, CodeGen, Qwen2), found \"Bert\""});
}

TEST_F(FolderTokenizerTest, SpecialTokensAreNotSplit) {
  write_pair();
  EXPECT_EQ(ids("a<|endoftext|>b"), (Ids{0, 12, 1}));  // a default of the class
  write_pair({{"eos_token", "<e>"}, {"unk_token", nullptr}, {"bos_token", {{"content", "<b>"}}}});
  EXPECT_EQ(ids("<b>a<e>"), (Ids{12, 0, 13}));
  EXPECT_EQ(ids("<|endoftext|>"), Ids{3});  // split: only its d is in the vocabulary
  write_pair({{"additional_special_tokens", {"<x>", {{"content", "<y>"}, {"lstrip", true}}}}});
  EXPECT_EQ(ids("a <x>a <y>"), (Ids{0, 5, 13, 0, 14}));
}

TEST_F(FolderTokenizerTest, AddedTokensHaveTheirIds) {
  const json two = {{"13", {{"content", "<y>"}}}, {"12", {{"content", "<x>"}, {"special", true}}}};
  write_pair({{"added_tokens_decoder", two}});
  EXPECT_EQ(ids("a<x><y>"), (Ids{0, 12, 13}));
  // transformers reads the older files only without this key.
  folder_.write("added_tokens.json", R"({"<z>": 12})");
  folder_.write("special_tokens_map.json", R"({"eos_token": "<z>"})");
  EXPECT_EQ(ids("a<x><y>"), (Ids{0, 12, 13}));
  write_pair();
  EXPECT_EQ(ids("a<z>"), (Ids{0, 12}));
  folder_.write("added_tokens.json", R"({"<z>": 13, "<y>": 12})");
  EXPECT_EQ(ids("<y><z>"), (Ids{12, 13}));
}

TEST_F(FolderTokenizerTest, AnIdThatTheVocabularyCannotGiveIsRefused) {
  write_pair();
  folder_.write("added_tokens.json", R"({"<z>": 15})");
  refused(ErrorKind::bad_input,
          {"vocab.json", "added_tokens.json: <z> with the id 15; it gets 12"});
  folder_.write("added_tokens.json", R"({"<z>": "x"})");
  refused(ErrorKind::bad_input, {"<z> with the id \"x\""});
  write_pair({{"added_tokens_decoder", {{"first", {{"content", "<x>"}}}}}});
  refused(ErrorKind::bad_input, {"tokenizer_config.json: added_tokens_decoder"});
}

TEST_F(FolderTokenizerTest, TokensBesideATokenizerJsonAreAdded) {
  write_whole(json::object());
  const Ids split = ids("<x>");
  const int next = Tokenizer::load(folder_.path()).vocabulary();
  const json decoder = {{std::to_string(next), {{"content", "<x>"}, {"special", true}}}};
  write_whole({{"added_tokens_decoder", decoder}});
  EXPECT_EQ(ids("<x>"), Ids{next});
  EXPECT_NE(split, Ids{next});
  write_whole(json::object());
  folder_.write("added_tokens.json", json{{"<x>", next}}.dump());
  EXPECT_EQ(ids("<x>"), Ids{next});
}

TEST_F(FolderTokenizerTest, ASpaceBeforeTheText) {
  write_pair({{"add_prefix_space", true}});
  EXPECT_EQ(ids("ab"), (Ids{5, 6}));
  write_pair({{"add_prefix_space", false}});
  EXPECT_EQ(ids("ab"), Ids{6});
}

TEST_F(FolderTokenizerTest, WhatContradictsTheTokenizerIsRefused) {
  const auto says = [&](const char* flag, bool value, const json& changes = json::object()) {
    write_whole({{flag, value}, {"tokenizer_class", "LlamaTokenizerFast"}}, changes);
    try {
      Tokenizer::load(folder_.path());
    } catch (const UnsupportedError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const json prefix = {{"pre_tokenizer", {{"add_prefix_space", true}}}};
  const json lower = {{"normalizer", {{"type", "Lowercase"}}}};
  EXPECT_EQ(says("add_prefix_space", false), "no error");
  EXPECT_EQ(says("add_prefix_space", true, prefix), "no error");
  EXPECT_EQ(says("add_prefix_space", true),
            folder_.path() +
                "/tokenizer.json: add_prefix_space of tokenizer_config.json: expected false, found "
                "true; save a tokenizer.json with the transformers that you use "
                "(AutoTokenizer.from_pretrained(DIR, use_fast=True).save_pretrained(DIR)), or give "
                "token ids (parse_token_ids())");
  EXPECT_NE(says("add_prefix_space", false, prefix).find("expected true, found false"),
            std::string::npos);
  EXPECT_EQ(says("do_lower_case", false), "no error");
  EXPECT_EQ(says("do_lower_case", true, lower), "no error");
  EXPECT_NE(says("do_lower_case", true).find("expected false, found true"), std::string::npos);
  EXPECT_NE(says("do_lower_case", false, lower).find("expected true, found false"),
            std::string::npos);
  EXPECT_NE(says("split_special_tokens", true).find("expected false"), std::string::npos);
  for (const char* flag : {"add_bos_token", "add_eos_token"}) {
    EXPECT_EQ(says(flag, false), "no error");
    EXPECT_NE(says(flag, true).find(flag), std::string::npos);
    // No version of transformers reads these flags for other classes.
    write_whole({{flag, true}, {"tokenizer_class", "PreTrainedTokenizerFast"}});
    EXPECT_NO_THROW(Tokenizer::load(folder_.path()));
    fs::remove(folder_.path() + "/tokenizer.json");
    write_pair({{flag, true}});
    refused(ErrorKind::unsupported, {"vocab.json", flag});
  }
}

}  // namespace
}  // namespace headgauge
