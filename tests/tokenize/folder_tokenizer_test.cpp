// What the files of a folder say about its tokenizer besides the vocabulary.
#include <nlohmann/json.hpp>

#include "checkpoint/made_file.hpp"
#include "faults.hpp"
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

TEST_F(FolderTokenizerTest, AModelTypeOfAnotherClassIsRefused) {
  write_pair();
  for (const char* type : {"llama", "mistral", "gemma", "gemma2", "seed_oss"}) {
    folder_.write("config.json", json{{"model_type", type}}.dump());
    refused(ErrorKind::unsupported, {"(GPT2, CodeGen, Qwen2), found \"" + std::string(type)});
  }
  folder_.write("config.json", R"({"model_type": "bert"})");
  refused(ErrorKind::unsupported, {"found \"Bert\""});
  folder_.write("config.json", R"({"model_type": "llama", "tokenizer_class": "GPT2Tokenizer"})");
  EXPECT_EQ(ids("12"), Ids{9});
}

TEST_F(FolderTokenizerTest, AClassIsAName) {
  for (const bool whole : {false, true}) {
    for (const json& odd :
         {json(5), json::array(), json{{"content", "GPT2Tokenizer"}}, json(true)}) {
      for (const char* file : {"tokenizer_config.json", "config.json"}) {
        write_pair();
        if (whole) write_whole(json::object());
        folder_.write("config.json", "{}");
        folder_.write(file, json{{"tokenizer_class", odd}}.dump());
        refused(ErrorKind::bad_input, {folder_.path() + ": tokenizer_class: expected a name"});
      }
    }
  }
  fs::remove(folder_.path() + "/tokenizer.json");
  write_pair({{"tokenizer_class", nullptr}});
  folder_.write("config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})");
  EXPECT_EQ(ids("12"), (Ids{8, 10}));
}

TEST_F(FolderTokenizerTest, TheClassSplitsInsteadOfTheTokenizerJson) {
  const fs::path source = data_root() / "tokenizers/gpt2/tokenizer.json";
  SKIP_WITHOUT(source);
  const json whole = json::parse(slurp(source));
  const json digits = json::parse(R"({"type": "Sequence", "pretokenizers": [
      {"type": "Digits", "individual_digits": true},
      {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}]})");
  struct Case {
    const char *type, *name;
    bool digits;
    const char* pre;  // of the class in transformers 5
    bool noticed;
  };
  for (const Case& one : {Case{"gpt2", "GPT2Tokenizer", false, "gpt-2", false},
                          {"llama", "GPT2TokenizerFast", true, "gpt-2", true},
                          {"gpt2", "", true, "gpt-2", true},
                          {"llama", "CodeGenTokenizer", false, "gpt-2", false},
                          {"llama", "Qwen2Tokenizer", false, "qwen2", true},
                          {"qwen2", "", false, "qwen2", true},
                          {"qwen2", "PreTrainedTokenizerFast", false, "qwen2", true},
                          {"qwen3", "PreTrainedTokenizerFast", false, "gpt-2", false},
                          {"mistral", "GPT2Tokenizer", true, "smollm", false},
                          {"mistral", "Qwen2Tokenizer", false, "gpt-2", false},
                          {"llama", "LlamaTokenizer", true, "smollm", false},
                          {"llama", "", true, "smollm", false},
                          {"gpt2", "PreTrainedTokenizerFast", true, "smollm", false},
                          {"gpt2", "RobertaTokenizer", false, "gpt-2", false}}) {
    json file = whole;
    if (one.digits) file["pre_tokenizer"] = digits;
    folder_.write("tokenizer.json", file.dump());
    folder_.write("config.json", json{{"model_type", one.type}}.dump());
    folder_.write("tokenizer_config.json", json{{"tokenizer_class", one.name}}.dump());
    const Tokenizer tokenizer = Tokenizer::load(folder_.path());
    SCOPED_TRACE(std::string(one.type) + " " + one.name);
    expect_golden(tokenizer, one.digits ? "smollm" : "gpt-2");
    const char* name = one.pre == std::string("qwen2") ? "Qwen2" : "GPT2";
    EXPECT_EQ(tokenizer.notice(),
              one.noticed
                  ? folder_.path() + "/tokenizer.json: texts are split as it says; " + name +
                        "Tokenizer of transformers 5 may split them otherwise, unless "
                        "tokenizer_class is PreTrainedTokenizerFast"
                  : "")
        << one.type << " " << one.name;
  }
  // The file that comes with Qwen2.
  json file = whole;
  file["normalizer"] = {{"type", "NFC"}};
  file["pre_tokenizer"] =
      json::parse(R"({"type": "Sequence", "pretokenizers": [
      {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
          "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|)"
                  R"( ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
      {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false}
      ]})");
  folder_.write("tokenizer.json", file.dump());
  folder_.write("config.json", R"({"model_type": "qwen2"})");
  for (const char* name : {"Qwen2Tokenizer", "Qwen2TokenizerFast", "LlamaTokenizerFast"}) {
    folder_.write("tokenizer_config.json", json{{"tokenizer_class", name}}.dump());
    EXPECT_EQ(Tokenizer::load(folder_.path()).notice(), "") << name;
  }
}

TEST_F(FolderTokenizerTest, TheFileCountsAndANoticeNamesAClassOfOtherSteps) {
  const auto noticed = [&](const char* name, const json& changes = json::object()) {
    write_whole({{"tokenizer_class", name}}, changes);
    EXPECT_EQ(ids("ab"), (Ids{0, 1})) << name;
    return !Tokenizer::load(folder_.path()).notice().empty();
  };
  for (const char* name : {"RobertaTokenizer", "BartTokenizer"}) EXPECT_FALSE(noticed(name));
  const json nfc = {{"type", "NFC"}};
  for (const char* name : {"CohereTokenizer", "GPTNeoXTokenizer"}) EXPECT_TRUE(noticed(name));
  EXPECT_FALSE(noticed("GPTNeoXTokenizer", {{"normalizer", nfc}}));
  EXPECT_FALSE(
      noticed("GPTNeoXTokenizer",
              {{"normalizer", {{"type", "Sequence"}, {"normalizers", json::array({nfc})}}}}))
      << "a list of one";
  EXPECT_FALSE(noticed("GPT2Tokenizer"));
  EXPECT_TRUE(noticed("GPT2Tokenizer", {{"model", {{"ignore_merges", true}}}}));
  // A type of models alone says less than the file.
  write_whole(json::object());
  folder_.write("config.json", R"({"model_type": "bert"})");
  EXPECT_EQ(ids("ab"), (Ids{0, 1}));
}

TEST_F(FolderTokenizerTest, TheConfigOfBertCountsBesideATokenizerJson) {
  const auto encoded = [&](const json& config, const char* text) {
    folder_.write("tokenizer_config.json", config.dump());
    folder_.write("tokenizer.json", R"({"version": "1.0", "normalizer": {"type": "BertNormalizer",
        "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100,
                  "vocab": {"[UNK]": 0, "e": 1,
                            "\u00e9": 2, "E": 3, "\u4e2d": 4, "##\u4e2d": 5}}})");
    return ids(text);
  };
  const char *const accent = "\u00e9", *const chinese = "e\u4e2d";
  for (const char* name : {"BertTokenizer", "DistilBertTokenizerFast", "ElectraTokenizer"}) {
    const auto with = [&](const char* flag, bool value) {
      return json{{"tokenizer_class", name}, {flag, value}};
    };
    EXPECT_EQ(encoded({{"tokenizer_class", name}}, accent), Ids{1}) << name;
    EXPECT_EQ(Tokenizer::load(folder_.path()).notice(), "") << name;
    EXPECT_EQ(encoded(with("strip_accents", false), accent), Ids{2}) << name;
    EXPECT_EQ(encoded(with("do_lower_case", false), "E"), Ids{3}) << name;
    EXPECT_EQ(encoded(with("tokenize_chinese_chars", true), chinese), (Ids{1, 4})) << name;
    EXPECT_EQ(encoded(with("tokenize_chinese_chars", false), chinese), (Ids{1, 5})) << name;
  }
}

TEST_F(FolderTokenizerTest, PairsSplitAsPreTokenizersOfGgufDo) {
  const fs::path source = data_root() / "tokenizers/gpt2";
  SKIP_WITHOUT(source);
  for (const char* name : {"vocab.json", "merges.txt"}) {
    fs::copy(source / name, fs::path(folder_.path()) / name);
  }
  for (const auto& [name, pre] : {std::pair("CodeGen", "gpt-2"), std::pair("Qwen2", "qwen2")}) {
    folder_.write("tokenizer_config.json",
                  json{{"tokenizer_class", name + std::string("Tokenizer")}}.dump());
    expect_golden(Tokenizer::load(folder_.path()), pre);
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
    return thrown<UnsupportedError>([&] { Tokenizer::load(folder_.path()); });
  };
  const json prefix = {{"pre_tokenizer", {{"add_prefix_space", true}}}};
  const json lower = {{"normalizer", {{"type", "Lowercase"}}}};
  EXPECT_EQ(says("add_prefix_space", false), "nothing");
  EXPECT_EQ(says("add_prefix_space", true, prefix), "nothing");
  EXPECT_EQ(says("add_prefix_space", true),
            folder_.path() +
                "/tokenizer.json: add_prefix_space of tokenizer_config.json: expected false, found "
                "true; save a tokenizer.json with the transformers that you use "
                "(AutoTokenizer.from_pretrained(DIR, use_fast=True).save_pretrained(DIR)), or give "
                "token ids (parse_token_ids())");
  expect_part(says("add_prefix_space", false, prefix), "expected true, found false");
  EXPECT_EQ(says("do_lower_case", false), "nothing");
  EXPECT_EQ(says("do_lower_case", true, lower), "nothing");
  expect_part(says("do_lower_case", true), "expected false, found true");
  expect_part(says("do_lower_case", false, lower), "expected true, found false");
  expect_part(says("split_special_tokens", true), "expected false");
  for (const char* flag : {"add_bos_token", "add_eos_token"}) {
    EXPECT_EQ(says(flag, false), "nothing");
    expect_part(says(flag, true), flag);
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
