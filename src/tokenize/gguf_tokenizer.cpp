// Builds tokenizers from the metadata of GGUF files. llama.cpp names the kind
// (tokenizer.ggml.model) and, for BPE, the pre-tokenizer (tokenizer.ggml.pre).
#include "tokenize/gguf_tokenizer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strict_json.hpp"
#include "base/utf8.hpp"
#include "tokenize/tokenizer_json.hpp"

namespace headgauge {
namespace {

// Names of one row differ in llama.cpp only by what decoding does with spaces.
constexpr std::string_view kGpt2[] = {"gpt-2", "phi-2", "gigachat", "a.x-4.0", "mellum", "exaone4"};
constexpr std::string_view kDigits[] = {"smollm", "starcoder",  "refact", "codeshell",
                                        "exaone", "minerva-7b", "mellum2"};
constexpr std::string_view kLlama3[] = {"llama-bpe", "llama3",    "llama-v3",
                                        "falcon3",   "falcon-h1", "pixtral",
                                        "midm-2.0",  "lfm2",      "jina-v5-nano"};
constexpr std::string_view kQwen2[] = {"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez"};

constexpr PreTokenizer kPreTokenizers[] = {
    {kGpt2, nullptr},
    {.names = kDigits, .pattern = nullptr, .digits = true},
    {.names = kLlama3,
     .pattern = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     .whole_words = true,
     .begins = true},
    {.names = kQwen2,
     .pattern = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     .nfc = true},
};

using nlohmann::json;

constexpr const char* kModel = "tokenizer.ggml.model";
constexpr const char* kPre = "tokenizer.ggml.pre";
constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581, SentencePiece's space

// tokenizer.ggml.token_type
enum class TokenType { normal = 1, unknown, control, user_defined, unused, byte };

class Vocabulary {
 public:
  explicit Vocabulary(const Gguf& file) : file_(file) {
    const GgufValue* list = file.find("tokenizer.ggml.tokens");
    if (list == nullptr || !list->is_list_of_texts() || list->count == 0) {
      refuse("tokenizer.ggml.tokens", "a list of texts", list);
    }
    tokens_ = list->texts();
    const auto invalid = std::ranges::find_if(tokens_, [](std::string_view token) {
      return find_invalid_utf8(token) != std::string_view::npos;
    });
    if (invalid != tokens_.end()) {
      throw BadInputError(fault(file.where("tokenizer.ggml.tokens"), "tokens in UTF-8",
                                in_quotes(*invalid), kGiveIds));
    }
    types_.assign(tokens_.size(), TokenType::normal);
    if (const auto types = numbers("tokenizer.ggml.token_type")) {
      for (std::size_t i = 0; i < types->size(); ++i) {
        const json& type = (*types)[i];
        if (!type.is_number_integer() || type < 1 || type > 6) {
          throw BadInputError(fault(file.where("tokenizer.ggml.token_type"), "numbers from 1 to 6",
                                    type.dump(), kGiveIds));
        }
        types_[i] = static_cast<TokenType>(type.get<int>());
      }
    }
  }

  const std::vector<std::string_view>& tokens() const { return tokens_; }
  TokenType type(std::size_t id) const { return types_[id]; }

  // Returns a number for each token; nothing if there is no list of that name.
  std::optional<std::vector<json>> numbers(const char* key) const {
    const GgufValue* list = file_.find(key);
    if (list == nullptr) return std::nullopt;
    if (list->is_list() && !list->is_list_of_texts() && list->count == tokens_.size() &&
        list->item != GgufValue::Type::boolean) {
      return list->numbers();
    }
    refuse(key, fmt::format("{} numbers, one for each token", tokens_.size()), list);
  }

  // Returns the token that one of these keys names; nothing if none exists.
  std::optional<NamedToken> named(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      const std::string whole = fmt::format("tokenizer.ggml.{}_token_id", key);
      const GgufValue* value = file_.find(whole);
      if (value == nullptr) continue;
      if (value->scalar.is_number_integer() && value->scalar >= 0 &&
          value->scalar < tokens_.size()) {
        const auto id = value->scalar.get<std::size_t>();
        return NamedToken(tokens_[id], id);
      }
      refuse(whole, fmt::format("an id from 0 to {}", tokens_.size() - 1), value);
    }
    return std::nullopt;
  }

  bool flag(const char* key, bool otherwise) const {
    const GgufValue* value = file_.find(key);
    if (value == nullptr) return otherwise;
    if (value->scalar.is_boolean()) return value->scalar.get<bool>();
    refuse(key, "true or false", value);
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& expected,
                           const GgufValue* found) const {
    throw BadInputError(
        fault(file_.where(key), expected, found == nullptr ? "none" : found->summary(), kGiveIds));
  }

  // Returns the tokens that are found before the text is split: control and user-defined ones.
  json added() const {
    json added = json::array();
    for (std::size_t id = 0; id < tokens_.size(); ++id) {
      const bool special = types_[id] == TokenType::control || types_[id] == TokenType::unknown;
      if ((!special && types_[id] != TokenType::user_defined) || tokens_[id].empty()) continue;
      added.push_back(
          added_token({{"id", id}, {"content", tokens_[id]}, {"normalized", false}}, special));
    }
    return added;
  }

  // Returns BOS and EOS as the file says, or llama.cpp's defaults if the file does not say.
  json ends(bool begins) const {
    std::optional<NamedToken> before, after;
    if (flag("tokenizer.ggml.add_bos_token", begins)) before = named({"bos"});
    if (flag("tokenizer.ggml.add_eos_token", false)) after = named({"eos"});
    return text_template(before, after);
  }

 private:
  const Gguf& file_;
  std::vector<std::string_view> tokens_;
  std::vector<TokenType> types_;
};

json ids_of(const std::vector<std::string_view>& tokens) {
  json ids = json::object();
  for (std::size_t id = 0; id < tokens.size(); ++id) ids[std::string(tokens[id])] = id;
  return ids;
}

json merges_of(const Gguf& file, const Vocabulary& vocabulary) {
  const GgufValue* list = file.find("tokenizer.ggml.merges");
  if (list == nullptr || !list->is_list_of_texts()) {
    vocabulary.refuse("tokenizer.ggml.merges", "a list of texts", list);
  }
  json merges = json::array();
  for (const std::string_view merge : list->texts()) {
    merges.push_back(merge_of(merge, file.where("tokenizer.ggml.merges")));
  }
  return merges;
}

json gguf_bpe(const Gguf& file) {
  const PreTokenizer& pre = find_pre_tokenizer(file.text(kPre), file.where(kPre));
  const Vocabulary vocabulary(file);
  json made = byte_level_bpe(pre, false, ids_of(vocabulary.tokens()), merges_of(file, vocabulary));
  made["added_tokens"] = vocabulary.added();
  made["post_processor"] = vocabulary.ends(pre.begins);
  return made;
}

// SentencePiece merges the pair whose token has the highest score. Hugging Face writes this as a
// list of merges: every split of a token into two others, by falling score.
json merges_by_score(const Vocabulary& vocabulary, const std::vector<json>& scores) {
  struct Merge {
    double score;
    std::string_view left, right;
  };
  const auto& tokens = vocabulary.tokens();
  std::unordered_map<std::string_view, std::size_t> ids;
  for (std::size_t id = 0; id < tokens.size(); ++id) ids[tokens[id]] = id;
  std::vector<Merge> merges;
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const TokenType type = vocabulary.type(id);
    if (type != TokenType::normal && type != TokenType::user_defined) continue;
    const double score = scores[id].get<double>();
    if (!std::isfinite(score))
      vocabulary.refuse("tokenizer.ggml.scores", "finite numbers", nullptr);
    for (std::size_t cut = 1; cut < std::min<std::size_t>(tokens[id].size(), 256); ++cut) {
      if ((tokens[id][cut] & 0xC0) == 0x80) continue;  // within a character
      const std::string_view left = tokens[id].substr(0, cut), right = tokens[id].substr(cut);
      if (!ids.contains(left) || !ids.contains(right)) continue;
      merges.push_back({score, left, right});
    }
  }
  std::ranges::stable_sort(merges, std::greater<>(), [](const Merge& merge) {
    return std::tuple(merge.score, merge.left.size(), merge.right.size());
  });
  json list = json::array();
  for (const Merge& merge : merges) list.push_back(json::array({merge.left, merge.right}));
  return list;
}

json sentence_piece(const Gguf& file) {
  const Vocabulary vocabulary(file);
  const auto scores = vocabulary.numbers("tokenizer.ggml.scores");
  if (!scores) vocabulary.refuse("tokenizer.ggml.scores", "a list of numbers", nullptr);
  const bool prefix = vocabulary.flag("tokenizer.ggml.add_space_prefix", true);
  const json space = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", kSpace}};
  json before = json::array();
  if (prefix) before.push_back({{"type", "Prepend"}, {"prepend", kSpace}});
  before.push_back(space);
  json after =
      json::array({{{"type", "Replace"}, {"pattern", {{"String", kSpace}}}, {"content", " "}},
                   {{"type", "ByteFallback"}},
                   {{"type", "Fuse"}}});
  if (prefix) {
    after.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  const auto unknown = vocabulary.named({"unknown"});
  return {{"normalizer", {{"type", "Sequence"}, {"normalizers", before}}},
          {"pre_tokenizer", nullptr},
          {"decoder", {{"type", "Sequence"}, {"decoders", after}}},
          {"added_tokens", vocabulary.added()},
          {"post_processor", vocabulary.ends(true)},
          {"model",
           {{"type", "BPE"},
            {"unk_token", unknown ? json(unknown->first) : json()},
            {"fuse_unk", true},
            {"byte_fallback", true},
            {"vocab", ids_of(vocabulary.tokens())},
            {"merges", merges_by_score(vocabulary, *scores)}}}};
}

// llama.cpp marks the beginning of a word instead of its continuation: "##s" is "s" in the file,
// and "the" is "\u2581the".
std::string bert_token(std::string_view stored) {
  if (stored.starts_with('[') && stored.ends_with(']')) return std::string(stored);
  if (stored.starts_with(kSpace)) return std::string(stored.substr(kSpace.size()));
  return "##" + std::string(stored);
}

json gguf_word_piece(const Gguf& file) {
  const Vocabulary vocabulary(file);
  json ids = json::object();
  bool cased = false;
  for (std::size_t id = 0; id < vocabulary.tokens().size(); ++id) {
    const std::string token = bert_token(vocabulary.tokens()[id]);
    ids[token] = id;
    cased = cased || (!token.starts_with('[') &&
                      std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; }));
  }
  const auto before = vocabulary.named({"cls", "bos"});
  // llama.cpp misspells the key; newer files have the correct spelling.
  const auto after = vocabulary.named({"seperator", "separator", "eos"});
  const auto unknown = vocabulary.named({"unknown"});
  if (!before || !after || !unknown) {
    vocabulary.refuse("tokenizer.ggml.cls_token_id, seperator_token_id and unknown_token_id", "ids",
                      nullptr);
  }
  json made = word_piece(
      ids, bert_token(unknown->first),
      {{"lowercase", !cased}, {"strip_accents", nullptr}, {"handle_chinese_chars", true}});
  made["added_tokens"] = vocabulary.added();
  made["post_processor"] = text_template(before, after);
  return made;
}

struct Kind {
  std::string_view name;
  const char* called;
  json (*make)(const Gguf& file);
};
constexpr Kind kKinds[] = {
    {"gpt2", "BPE", gguf_bpe},
    {"llama", "SentencePiece", sentence_piece},
    {"bert", "WordPiece", gguf_word_piece},
};

bool has_tokenizer(const Gguf& file) {
  const GgufValue* model = file.find(kModel);
  return model != nullptr && model->scalar != "none" && model->scalar != "no_vocab";
}

}  // namespace

const PreTokenizer& find_pre_tokenizer(std::string_view name, const std::string& where) {
  std::string known;
  for (const PreTokenizer& pre : kPreTokenizers) {
    if (std::ranges::find(pre.names, name) != pre.names.end()) return pre;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", fmt::join(pre.names, ", "));
  }
  throw UnsupportedError(
      fault(where, "one of " + known, in_quotes(name),
            "headgauge does not know this pre-tokenizer: give token ids (parse_token_ids())"));
}

json merge_of(std::string_view line, const std::string& where) {
  const std::size_t space = line.find(' ', 1);
  if (space != line.npos && space == line.rfind(' ') && find_invalid_utf8(line) == line.npos) {
    return json::array({line.substr(0, space), line.substr(space + 1)});
  }
  throw BadInputError(fault(where, "two tokens and a space", in_quotes(line), kGiveIds));
}

std::string gguf_tokenizer_json(const Gguf& file) {
  if (!has_tokenizer(file)) {
    throw BadInputError(fault(file.where(kModel), "a tokenizer", "none", kGiveIds));
  }
  const std::string name = file.text(kModel);
  const auto* kind = std::ranges::find(kKinds, name, &Kind::name);
  if (kind == std::end(kKinds)) {
    throw UnsupportedError(fault(file.where(kModel),
                                 "gpt2 (BPE), llama (SentencePiece) or bert "
                                 "(WordPiece)",
                                 in_quotes(name), kGiveIds));
  }
  json made = kind->make(file);
  made["version"] = "1.0";
  return made.dump();
}

std::string gguf_tokenizer_kind(const Gguf& file) {
  if (!has_tokenizer(file)) return "none";
  const json& name = file.find(kModel)->scalar;
  const auto* kind = std::ranges::find_if(kKinds, [&](const Kind& k) { return name == k.name; });
  if (kind == std::end(kKinds)) return "unknown kind (GGUF)";
  const GgufValue* pre = file.find(kPre);
  const bool named = kind->make == gguf_bpe && pre != nullptr && pre->scalar.is_string();
  return std::string(kind->called) +
         (named ? " (GGUF, pre-tokenizer " + pre->scalar.get<std::string>() + ")" : " (GGUF)");
}

}  // namespace headgauge
