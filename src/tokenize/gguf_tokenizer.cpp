// Builds tokenizers from the metadata of GGUF files. llama.cpp names the kind
// (tokenizer.ggml.model) and, for BPE, the pre-tokenizer (tokenizer.ggml.pre).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strict_json.hpp"
#include "base/utf8.hpp"
#include "headgauge/memory.hpp"
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
constexpr const char* kTokens = "tokenizer.ggml.tokens";
// Bytes of a list of tokens or merges in the file: Gemma 3, with 262144 tokens, has 4 MiB.
constexpr std::size_t kLargestList = std::size_t{16} << 20;
// 512 characters, the most that SentencePiece makes.
constexpr std::size_t kLongestToken = 2048;
constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581, SentencePiece's space

// tokenizer.ggml.token_type
enum class TokenType { normal = 1, unknown, control, user_defined, unused, byte };

// A tokenizer.json. Its vocabulary and merges are text from the beginning: as JSON values they take
// several times the memory and the time.
struct Made {
  json rest;  // null in place of both
  std::string vocab, merges;

  void add_token(std::string_view token, std::size_t id) {
    vocab += fmt::format("{}{}:{}", vocab.empty() ? "" : ",", json(token).dump(), id);
  }
  void add_merge(const json& pair) { merges += (merges.empty() ? "" : ",") + pair.dump(); }
  std::string text() const {
    std::string text = rest.dump();
    const auto fill = [&](std::string_view place, const std::string& with) {
      const std::size_t at = text.find(place);  // not within a text, whose quotes are escaped
      if (at != text.npos) text.replace(at + place.size() - 4, 4, with);
    };
    fill(R"("vocab":null)", "{" + vocab + "}");
    fill(R"("merges":null)", "[" + merges + "]");
    return text;
  }
};

class Vocabulary {
 public:
  explicit Vocabulary(const Gguf& file) : file_(file), tokens_(texts(kTokens)) {
    if (tokens_.empty()) refuse(kTokens, "a list of texts", file.find(kTokens));
    for (const std::string_view token : tokens_) {
      const bool invalid = find_invalid_utf8(token) != std::string_view::npos;
      if (!invalid && token.size() <= kLongestToken) continue;
      throw BadInputError(fault(
          file.where(kTokens),
          invalid ? "tokens in UTF-8" : fmt::format("tokens of at most {} bytes", kLongestToken),
          invalid ? in_quotes(token) : fmt::format("one of {}", token.size()), kGiveIds));
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
  bool is_text(std::size_t id) const {
    return types_[id] == TokenType::normal || types_[id] == TokenType::user_defined;
  }

  // Returns the texts of a list that the file must have.
  std::vector<std::string_view> texts(const char* key) const {
    const GgufValue* list = file_.find(key);
    if (list == nullptr || !list->is_list_of_texts()) refuse(key, "a list of texts", list);
    if (list->items.size() <= kLargestList) return list->texts();
    throw BadInputError(fault(file_.where(key), "at most " + format_bytes(kLargestList),
                              format_bytes(list->items.size()), kGiveIds));
  }

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

  // Returns the token that one of these keys names; if there is no such key, the one with the id
  // `otherwise`, if there is one.
  std::optional<NamedToken> named(std::initializer_list<const char*> keys,
                                  std::size_t otherwise) const {
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
    if (otherwise >= tokens_.size()) return std::nullopt;
    return NamedToken(tokens_[otherwise], otherwise);
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

  void add_to(Made& made) const {
    for (std::size_t id = 0; id < tokens_.size(); ++id) made.add_token(tokens_[id], id);
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
  json ends(bool begins, std::size_t bos, std::size_t eos) const {
    std::optional<NamedToken> before, after;
    if (flag("tokenizer.ggml.add_bos_token", begins)) before = named({"bos"}, bos);
    if (flag("tokenizer.ggml.add_eos_token", false)) after = named({"eos"}, eos);
    return text_template(before, after);
  }

 private:
  const Gguf& file_;
  std::vector<std::string_view> tokens_;
  std::vector<TokenType> types_;
};

void gguf_bpe(const Gguf& file, const Vocabulary& vocabulary, Made& made) {
  constexpr const char* kMerges = "tokenizer.ggml.merges";
  const PreTokenizer pre = find_pre_tokenizer(file.text(kPre), file.where(kPre));
  vocabulary.add_to(made);
  for (const std::string_view merge : vocabulary.texts(kMerges)) {
    made.add_merge(merge_of(merge, file.where(kMerges)));
  }
  made.rest = byte_level_bpe(pre, false, nullptr, nullptr);
  made.rest["post_processor"] = vocabulary.ends(pre.begins, 11, 11);
}

// SentencePiece merges the pair whose token has the highest score. Hugging Face writes this as a
// list of merges, by falling score. Within a text, a token comes to be by the same merges as from
// its own characters, because none of them crosses its ends: the last of them is the only one that
// makes the token, and the list has no other.
void add_merges_by_score(const Vocabulary& vocabulary, const std::vector<json>& scores,
                         Made& made) {
  const auto& tokens = vocabulary.tokens();
  // The hash of a token and its id plus 1. Most texts are no tokens, which the slots alone tell.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> slots(std::bit_ceil(2 * tokens.size()));
  const auto slot = [&](std::string_view text) -> std::uint32_t& {
    const std::size_t hash = std::hash<std::string_view>{}(text);
    for (std::size_t at = hash;; ++at) {
      auto& [high, next] = slots[at & (slots.size() - 1)];
      if (next == 0) high = static_cast<std::uint32_t>(hash >> 32);
      if (next == 0 || (high == hash >> 32 && tokens[next - 1] == text)) return next;
    }
  };
  const auto find = [&](std::string_view text) { return Index{slot(text)} - 1; };
  for (std::uint32_t id = 0; id < tokens.size(); ++id) slot(tokens[id]) = id + 1;
  // The score, the bytes of both parts, and minus the id and minus the place, so that the merge
  // that comes first is the largest.
  using Merge = std::tuple<double, Index, Index, Index, Index>;
  std::vector<Merge> last;
  std::vector<Index> size, before;  // of the part that begins at a byte; size 0: none does
  for (Index id = 0; id < std::ssize(tokens); ++id) {
    const std::string_view token = tokens[id];
    if (!std::isfinite(scores[id].get<double>()))
      vocabulary.refuse("tokenizer.ggml.scores", "finite numbers", nullptr);
    if (!vocabulary.is_text(id) || find(token) != id) continue;
    std::priority_queue<Merge> merges;
    size.assign(token.size() + 1, 0);
    before = size;
    const auto offer = [&](Index at) {
      const Index left = size[at], right = size[at + left];
      const Index to = right > 0 ? find(token.substr(at, left + right)) : -1;
      if (to < 0 || !vocabulary.is_text(to)) return;
      merges.emplace(scores[to].get<double>(), left, right, -to, -at);
    };
    for (Index at = 0, next = 0; at < std::ssize(token); at = next) {
      while (++next < std::ssize(token) && (token[next] & 0xC0) == 0x80) continue;
      size[at] = next - at;
      before[next] = at;
    }
    for (Index at = 0; at < std::ssize(token); at += size[at]) offer(at);
    while (!merges.empty()) {
      const auto [score, left, right, to, place] = merges.top();
      merges.pop();
      if (size[-place] != left || size[left - place] != right) continue;  // one of them has merged
      const bool whole = left + right == std::ssize(token);
      if (whole && find(token.substr(0, left)) >= 0 && find(token.substr(left)) >= 0) {
        last.emplace_back(score, left, right, to, place);
      }
      size[-place] += right;
      size[left - place] = 0;
      before[left + right - place] = -place;
      if (place != 0) offer(before[-place]);
      offer(-place);
    }
  }
  std::ranges::sort(last, std::greater<>());
  for (const auto& [score, left, right, to, place] : last) {
    made.add_merge({tokens[-to].substr(0, left), tokens[-to].substr(left)});
  }
}

void sentence_piece(const Gguf&, const Vocabulary& vocabulary, Made& made) {
  vocabulary.add_to(made);
  const auto scores = vocabulary.numbers("tokenizer.ggml.scores");
  if (!scores) vocabulary.refuse("tokenizer.ggml.scores", "a list of numbers", nullptr);
  add_merges_by_score(vocabulary, *scores, made);
  made.rest = parse_json(R"({
      "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
          {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
      "decoder": {"type": "Sequence", "decoders": [
          {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
          {"type": "ByteFallback"}, {"type": "Fuse"},
          {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
      "model": {"type": "BPE", "unk_token": null, "fuse_unk": true, "byte_fallback": true,
                "vocab": null, "merges": null}})",
                         "");
  if (!vocabulary.flag("tokenizer.ggml.add_space_prefix", true)) {
    made.rest["normalizer"]["normalizers"].erase(0);
    made.rest["decoder"]["decoders"].erase(3);
  }
  if (const auto unknown = vocabulary.named({"unknown"}, 0)) {
    made.rest["model"]["unk_token"] = unknown->first;
  }
  made.rest["post_processor"] = vocabulary.ends(true, 1, 2);
}

// llama.cpp marks the beginning of a word instead of its continuation: "##s" is "s" in the file,
// and "the" is "\u2581the".
std::string bert_token(std::string_view stored) {
  if (stored.starts_with('[') && stored.ends_with(']')) return std::string(stored);
  if (stored.starts_with(kSpace)) return std::string(stored.substr(kSpace.size()));
  return "##" + std::string(stored);
}

void gguf_word_piece(const Gguf&, const Vocabulary& vocabulary, Made& made) {
  bool cased = false;
  for (std::size_t id = 0; id < vocabulary.tokens().size(); ++id) {
    const std::string token = bert_token(vocabulary.tokens()[id]);
    made.add_token(token, id);
    cased = cased || (!token.starts_with('[') &&
                      std::ranges::any_of(token, [](char c) { return c >= 'A' && c <= 'Z'; }));
  }
  const auto before = vocabulary.named({"cls", "bos"}, 101);
  // llama.cpp misspells the key; newer files have the correct spelling.
  const auto after = vocabulary.named({"seperator", "separator", "eos"}, 102);
  const auto unknown = vocabulary.named({"unknown"}, 100);
  if (!before || !after || !unknown) {
    vocabulary.refuse("tokenizer.ggml.cls_token_id, seperator_token_id and unknown_token_id", "ids",
                      nullptr);
  }
  made.rest = word_piece(
      nullptr, bert_token(unknown->first),
      {{"lowercase", !cased}, {"strip_accents", nullptr}, {"handle_chinese_chars", true}});
  made.rest["post_processor"] = text_template(before, after);
}

struct Kind {
  std::string_view name;
  const char* called;
  void (*make)(const Gguf& file, const Vocabulary& vocabulary, Made& made);
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
  refuse_if(!has_tokenizer(file), file.where(kModel), "a tokenizer", "none", kGiveIds);
  const std::string name = file.text(kModel);
  const auto* kind = std::ranges::find(kKinds, name, &Kind::name);
  refuse_if<UnsupportedError>(kind == std::end(kKinds), file.where(kModel),
                              "gpt2 (BPE), llama (SentencePiece) or bert (WordPiece)",
                              in_quotes(name), kGiveIds);
  Made made;
  const Vocabulary vocabulary(file);
  kind->make(file, vocabulary, made);
  made.rest["added_tokens"] = vocabulary.added();
  made.rest["version"] = "1.0";
  return made.text();
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
