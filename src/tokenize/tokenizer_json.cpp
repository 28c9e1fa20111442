#include "tokenize/tokenizer_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <vector>

#include "base/file.hpp"
#include "base/strict_json.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kConfig = "tokenizer_config.json";
constexpr const char* kEnd = "<|endoftext|>";
constexpr const char* kSave =
    "save a tokenizer.json with the transformers that you use (AutoTokenizer.from_pretrained(DIR, "
    "use_fast=True).save_pretrained(DIR)), or give token ids (parse_token_ids())";

// Tokenizer classes of transformers by their names without "Tokenizer" and "Fast".
struct TokenizerClass {
  std::string_view name;
  std::string_view pre = {};  // llama.cpp's name of its pre-tokenizer
  const char* end = nullptr;  // a key that is kEnd by default, besides eos_token and unk_token
  bool nfc = false;           // the text is normalised, which `pre` does not say
};
// Those without `end` put tokens around a text that are not made here.
constexpr TokenizerClass kBpe[] = {{"GPT2", "gpt-2", "bos_token"},
                                   {"CodeGen", "gpt-2", "bos_token"},
                                   {"Qwen2", "qwen2", "pad_token"},
                                   {"Bart", "gpt-2"},
                                   {"Roberta", "gpt-2"},
                                   {"Cohere", "smollm", nullptr, true},
                                   {"GPTNeoX", "gpt-2", nullptr, true}};
constexpr std::span kPairs = std::span(kBpe).first<3>();
constexpr TokenizerClass kWordPiece[] = {{"Bert"},       {"ConvBert"},   {"DistilBert"},
                                         {"Electra"},    {"LayoutLM"},   {"Lxmert"},
                                         {"MobileBert"}, {"SqueezeBert"}};
// In transformers 4 these follow add_bos_token and add_eos_token beside a tokenizer.json.
constexpr std::string_view kEnds[] = {"Llama", "CodeLlama", "Gemma", "Cohere", "GPTNeoX"};

// Returns the text of a token: itself, or `content` of an object; empty if it has none.
std::string text_of(const json& token) {
  const json& text = token.is_object() && token.contains("content") ? token["content"] : token;
  return text.is_string() ? text.get<std::string>() : "";
}

// What a folder says about its tokenizer besides the vocabulary.
class Folder {
 public:
  explicit Folder(const std::string& path) : root_(path) {}

  bool has(const char* name) const {
    std::error_code ignored;  // an unreadable path counts as missing
    return fs::exists(fs::symlink_status(root_ / name, ignored));  // a link may dangle
  }
  bool has_pair() const { return has("vocab.json") && has("merges.txt"); }
  std::string path(const char* name) const { return (root_ / name).string(); }

  json read(const char* name) const {
    return has(name) ? parse_json_object(read_file(path(name), kLargestTokenizer), path(name))
                     : json::object();
  }

  std::vector<std::string> lines(const char* name) const {
    const std::string text = read_file(path(name), kLargestTokenizer);
    refuse_stand_in(text, path(name), "a vocabulary");
    std::istringstream in(parse_text(text, path(name)));
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line); lines.push_back(line)) {
      if (line.ends_with('\r')) line.pop_back();
    }
    return lines;
  }

  // Reads tokenizer_config.json and what stands for missing keys of it.
  void read_config() {
    config = read(kConfig);
    if (!config.contains("added_tokens_decoder")) {
      config.update(read("special_tokens_map.json"));
      json& decoder = config["added_tokens_decoder"] = json::object();
      const json added = read("added_tokens.json");
      for (const auto& [text, id] : added.items()) decoder[id.dump()] = text;
    }
    const json model = read("config.json");
    type_ = text_of(model.value("model_type", json()));
    constexpr std::string_view kOfExport = "headgauge_";
    if (type_.starts_with(kOfExport)) type_.erase(0, kOfExport.size());
    std::string name;
    for (const json* from : {&std::as_const(config), &model}) {
      const json given = from->value("tokenizer_class", json());
      refuse_if(!given.is_null() && !given.is_string(), root_.string() + ": tokenizer_class",
                "a name", describe(given), "correct it");
      if (name.empty()) name = text_of(given);
    }
    for (const std::string_view end : {"Fast", "Tokenizer"}) {
      if (name.ends_with(end)) name.resize(name.size() - end.size());
    }
    config["tokenizer_class"] = name;
  }

  void set_defaults(json values) {
    values.update(config);
    config = std::move(values);
  }

  json flag(const char* key, json otherwise) const {
    json value = config.value(key, json());
    return value.is_boolean() ? value : otherwise;
  }

  bool names_class() const { return config["tokenizer_class"] != ""; }

  // Returns the class that transformers 5 takes, or a type of models that has none of those here.
  std::string class_name() const {
    if (names_class() && type_ != "qwen2") return text_of(config["tokenizer_class"]);
    if (type_ == "qwen2" || type_ == "qwen3") return "Qwen2";
    return type_ == "gpt2" ? "GPT2" : type_ == "bert" ? "Bert" : type_;
  }

  // Returns the folder's class, the first if neither class nor model type is known.
  const TokenizerClass& find_class(std::span<const TokenizerClass> classes) const {
    const std::string name = class_name();
    std::string known;
    for (const TokenizerClass& one : classes) {
      if (name.empty() || name == one.name) return one;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
    }
    throw UnsupportedError(fault(root_.string() + ": tokenizer_class",
                                 "a class whose vocabulary headgauge can read (" + known + ")",
                                 in_quotes(name), kSave));
  }

  json make_words(json ids, const std::string& unknown) const {
    return word_piece(std::move(ids), unknown,
                      {{"lowercase", flag("do_lower_case", true)},
                       {"strip_accents", flag("strip_accents", nullptr)},
                       {"handle_chinese_chars", flag("tokenize_chinese_chars", true)}});
  }

  // Gives a tokenizer.json of BERT's the switches of tokenizer_config.json, as transformers does.
  // Returns a notice if the class has other steps in transformers 5 than the file; else empty.
  std::string compare_class(std::string& bytes) const {
    const std::string name = class_name(), where = path("tokenizer.json");
    const auto is_it = [&](const TokenizerClass& one) { return one.name == name; };
    const auto* const bpe = std::ranges::find_if(kBpe, is_it);
    const bool words = std::ranges::any_of(kWordPiece, is_it) && name != "ConvBert";
    if (type_ == "mistral" || (bpe == std::end(kBpe) && !words)) return "";
    json file;
    try {
      file = parse_json_object(bytes, where);
    } catch (const BadInputError&) {  // loading reports what it does not take
    }
    if (!file.is_object() || !file["model"].is_object()) return "";
    const std::string otherwise = fmt::format(
        "{}: texts are split as it says; {}Tokenizer of transformers 5 may split them otherwise, "
        "unless tokenizer_class is PreTrainedTokenizerFast",
        where, name);
    const json kind = words ? "WordPiece" : "BPE";
    if (file["model"].value("type", kind) != kind) return names_class() ? otherwise : "";
    if (words) {
      json& switches = file["normalizer"];
      if (!switches.is_object() || switches["type"] != "BertNormalizer") return "";
      for (const auto& [key, in_file] : {std::pair{"do_lower_case", "lowercase"},
                                         {"strip_accents", "strip_accents"},
                                         {"tokenize_chinese_chars", "handle_chinese_chars"}}) {
        switches[in_file] = flag(key, switches[in_file]);
      }
      bytes = file.dump();
      return "";
    }
    json made =
        byte_level_bpe(find_pre_tokenizer(bpe->pre, ""), flag("add_prefix_space", false), {}, {});
    if (bpe->nfc) made["normalizer"] = {{"type", "NFC"}};
    const auto steps = [](const json& of) {
      json all = json::array({of["model"].value("ignore_merges", false)});
      for (const auto& [key, list] :
           {std::pair{"normalizer", "normalizers"}, {"pre_tokenizer", "pretokenizers"}}) {
        const json step = of.value(key, json());
        const json parts = step.is_object() ? step.value(list, json()) : json();
        all.push_back(parts.is_array() && parts.size() == 1 ? parts[0] : step);
      }
      return all;
    };
    const bool same =
        std::ranges::all_of(json::diff(steps(file), steps(made)), [](const json& change) {
          const std::string at = change["path"];
          return at.ends_with("trim_offsets") ||
                 (at.ends_with("use_regex") && change["op"] == "add" && change["value"] == true);
        });
    return same ? "" : otherwise;
  }

  // Returns the tokens to add, in the order in which transformers adds them.
  json added() const {
    json specials = json::array(), list = json::array();
    for (const std::string key : {"bos", "eos", "unk", "sep", "pad", "cls", "mask"}) {
      const json token = config.value(key + "_token", json());
      if (!text_of(token).empty()) specials.push_back(token);
    }
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
      for (const json& token : config.value(key, json::array())) specials.push_back(token);
    }
    std::set<std::string> names, listed;
    for (const json& token : specials) names.insert(text_of(token));
    for (const auto& [id, token] : config["added_tokens_decoder"].items()) {
      list.push_back(added_token(token, names.contains(text_of(token))));
      list.back()["id"] = parse_json(id, path(kConfig) + ": added_tokens_decoder");
      listed.insert(text_of(token));
    }
    std::sort(list.begin(), list.end(),
              [](const json& a, const json& b) { return a["id"] < b["id"]; });
    for (const json& token : specials) {
      if (listed.insert(text_of(token)).second) list.push_back(added_token(token, true));
    }
    return list;
  }

  // Returns a special token with its id.
  NamedToken special(const char* key, const json& ids) const {
    const std::string text = text_of(config[key]);
    if (ids.contains(text)) return {text, ids[text]};
    throw BadInputError(
        fault(path("vocab.txt"), fmt::format("{}, which is its {}", text, key), "none", kSave));
  }

  json config;

 private:
  fs::path root_;
  std::string type_;  // of the model
};

json read_pair(Folder& folder) {
  const TokenizerClass& kind = folder.find_class(kPairs);
  folder.set_defaults({{"eos_token", kEnd}, {"unk_token", kEnd}, {kind.end, kEnd}});
  json merges = json::array();
  std::size_t number = 0;
  for (const std::string& line : folder.lines("merges.txt")) {
    const std::string where = fmt::format("{} line {}", folder.path("merges.txt"), ++number);
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(merge_of(line, where));
  }
  return byte_level_bpe(find_pre_tokenizer(kind.pre, ""), folder.flag("add_prefix_space", false),
                        folder.read("vocab.json"), std::move(merges));
}

json read_words(Folder& folder) {
  folder.find_class(kWordPiece);
  folder.set_defaults(parse_json(R"({"unk_token": "[UNK]", "sep_token": "[SEP]",
      "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"})",
                                 ""));
  json ids = json::object();
  std::size_t id = 0;
  for (const std::string& token : folder.lines("vocab.txt")) ids[token] = id++;
  json made = folder.make_words(ids, folder.special("unk_token", ids).first);
  made["post_processor"] =
      text_template(folder.special("cls_token", ids), folder.special("sep_token", ids));
  return made;
}

}  // namespace

json byte_level_bpe(const PreTokenizer& pre, bool space, json ids, json merges) {
  const json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", space},
                           {"trim_offsets", true},
                           {"use_regex", pre.pattern == nullptr}};
  json steps = json::array();
  if (pre.digits) steps.push_back({{"type", "Digits"}, {"individual_digits", true}});
  if (pre.pattern != nullptr) {
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", pre.pattern}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  steps.push_back(byte_level);
  return {{"version", "1.0"},
          {"normalizer", pre.nfc ? json{{"type", "NFC"}} : json()},
          {"pre_tokenizer",
           steps.size() == 1 ? byte_level : json{{"type", "Sequence"}, {"pretokenizers", steps}}},
          {"decoder", byte_level},
          {"model",
           {{"type", "BPE"},
            {"ignore_merges", pre.whole_words},
            {"vocab", std::move(ids)},
            {"merges", std::move(merges)}}}};
}

json word_piece(json ids, const std::string& unknown, const json& switches) {
  json made = parse_json(R"({"version": "1.0",
      "normalizer": {"type": "BertNormalizer", "clean_text": true},
      "pre_tokenizer": {"type": "BertPreTokenizer"},
      "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
      "model": {"type": "WordPiece", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100}})",
                         "");
  made["normalizer"].update(switches);
  made["model"].update({{"unk_token", unknown}, {"vocab", std::move(ids)}});
  return made;
}

json added_token(const json& token, bool special) {
  special = special || (token.is_object() && token.value("special", json()) == true);
  json made = {{"content", text_of(token)}, {"single_word", false}, {"lstrip", false}};
  made.update({{"rstrip", false}, {"normalized", !special}});
  if (token.is_object()) made.update(token);
  made["special"] = special;
  return made;
}

json text_template(const std::optional<NamedToken>& before,
                   const std::optional<NamedToken>& after) {
  if (!before && !after) return nullptr;
  json single = json::array(), described = json::object();
  const auto add = [&](const NamedToken& token) {
    const auto& [text, id] = token;
    single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    described[text] = {{"id", text}, {"ids", json::array({id})}, {"tokens", json::array({text})}};
  };
  if (before) add(*before);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (after) add(*after);
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", json::array()},
          {"special_tokens", described}};
}

FolderTokenizer read_folder_tokenizer(const std::string& path) {
  Folder folder(path);
  folder.read_config();
  FolderTokenizer read;
  if (folder.has("tokenizer.json")) {
    read.path = folder.path("tokenizer.json");
    read.bytes = read_file(read.path, kLargestTokenizer);
    refuse_stand_in(read.bytes, read.path, "a tokenizer.json");
    read.notice = folder.compare_class(read.bytes);
  } else if (folder.has_pair()) {
    read.path = folder.path("vocab.json");
    read.bytes = read_pair(folder).dump();
  } else if (folder.has("vocab.txt")) {
    read.path = folder.path("vocab.txt");
    read.bytes = read_words(folder).dump();
  } else {
    const char* found = folder.has("vocab.json")        ? "vocab.json without merges.txt"
                        : folder.has("merges.txt")      ? "merges.txt without vocab.json"
                        : folder.has("tokenizer.model") ? "tokenizer.model alone"
                                                        : "none of them";
    throw BadInputError(fault(
        path, "a tokenizer.json, a vocab.json and a merges.txt, or a vocab.txt", found, kSave));
  }
  read.added = folder.added().dump();
  read.config = folder.config;
  return read;
}

void FolderTokenizer::require_agreement(const Tokenizer& loaded) const {
  const auto require = [&](const char* flag, const auto& is_so) {
    const json says = config.value(flag, json());
    if (!says.is_boolean() || says == is_so()) return;
    throw UnsupportedError(fault(fmt::format("{}: {} of {}", path, flag, kConfig),
                                 says == true ? "false" : "true", says.dump(), kSave));
  };
  const auto ids = [&](const char* text) { return loaded.encode(text, false); };
  require("add_prefix_space", [&] {  // the first word has the tokens of the second
    const std::vector<int> words = ids("a a");
    const auto middle = words.begin() + std::ssize(words) / 2;
    return !words.empty() && std::equal(words.begin(), middle, middle, words.end());
  });
  require("do_lower_case", [&] {
    const std::vector<int> upper = ids("ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    // The unknown token tells nothing.
    if (upper.size() < 2) return config["do_lower_case"] == true;
    return upper == ids("abcdefghijklmnopqrstuvwxyz");
  });
  require("split_special_tokens", [] { return false; });
  const bool follows =
      std::ranges::find(kEnds, text_of(config["tokenizer_class"])) != std::end(kEnds);
  if (path.ends_with("tokenizer.json") && !follows) return;
  Tokenizer::Around around;
  loaded.encode("a", around);
  require("add_bos_token", [&] { return !around.before.empty(); });
  require("add_eos_token", [&] { return !around.after.empty(); });
}

std::string folder_tokenizer_kind(const std::string& path) {
  const Folder folder(path);
  if (!folder.has("tokenizer.json")) {
    return folder.has_pair()         ? "BPE (vocab.json, merges.txt)"
           : folder.has("vocab.txt") ? "WordPiece (vocab.txt)"
                                     : "none";
  }
  const std::string file = folder.path("tokenizer.json");
  const std::string bytes = read_file(file, kLargestTokenizer);
  std::string kind = "unknown kind";
  try {
    const json tree = parse_json_object(bytes, file);
    kind = tree.value(json::json_pointer("/model/type"), kind);
  } catch (const std::exception&) {
    // Loading the tokenizer reports the error.
  }
  return kind + " (tokenizer.json)";
}

}  // namespace headgauge
