// Builds the tokenizer.json of tokenizers that other files describe.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "checkpoint/gguf.hpp"

namespace headgauge {

class Tokenizer;

inline constexpr const char* kGiveIds = "give token ids (parse_token_ids())";

// How a byte-level BPE splits a text.
struct PreTokenizer {
  std::span<const std::string_view> names;  // llama.cpp's
  const char* pattern;                      // of the Hugging Face tokenizer; null means GPT-2's
  bool digits = false;                      // split off each digit first
  bool nfc = false;                         // the text is normalised
  bool whole_words = false;                 // a word that is a token is not split
  bool begins = false;                      // add a BOS token if a GGUF file does not say
};

// Returns the pre-tokenizer that llama.cpp calls so. Throws UnsupportedError; `where` names the
// place of the name.
const PreTokenizer& find_pre_tokenizer(std::string_view name, const std::string& where);

// Returns a BPE without special tokens; `space` puts a space before the text.
nlohmann::json byte_level_bpe(const PreTokenizer& pre, bool space, nlohmann::json ids,
                              nlohmann::json merges);

// Returns BERT's WordPiece without special tokens; `switches` are those of its normalizer.
nlohmann::json word_piece(nlohmann::json ids, const std::string& unknown,
                          const nlohmann::json& switches);

// Returns a token that is found before the text is split, with the defaults of transformers.
// `token` is its text, or an object with its text as `content` and with what differs.
nlohmann::json added_token(const nlohmann::json& token, bool special);

// Returns the two tokens of a line, which merge.
nlohmann::json merge_of(std::string_view line, const std::string& where);

using NamedToken = std::pair<std::string, std::size_t>;  // a text and its id

// Returns the post-processor that puts tokens before and after a text; null if there are none.
nlohmann::json text_template(const std::optional<NamedToken>& before,
                             const std::optional<NamedToken>& after);

// The tokenizer that the files of a folder describe.
struct FolderTokenizer {
  std::string path;       // the file with the vocabulary
  std::string bytes;      // a tokenizer.json
  std::string added;      // the tokens to add to it, as hg_tokenizer_from_json() takes them
  nlohmann::json config;  // tokenizer_config.json
  std::string notice;     // what versions of transformers make of it otherwise

  // Throws UnsupportedError if tokenizer_config.json says of `loaded` what is not so: versions of
  // transformers differ in what they make of such a folder.
  void require_agreement(const Tokenizer& loaded) const;
};

// Reads tokenizer.json as the class of transformers 5 that the folder names does. If that is
// missing, builds it as the class does from vocab.json with merges.txt, or from vocab.txt. Throws
// UnsupportedError for a class that headgauge does not know, BadInputError if a file is missing or
// broken.
FolderTokenizer read_folder_tokenizer(const std::string& folder);

// Returns "BPE (tokenizer.json)" or "none"; does not check for faults.
std::string folder_tokenizer_kind(const std::string& folder);

// Returns the tokenizer.json for the metadata of a GGUF file, as the tokenizers library reads it.
// Throws BadInputError if something is missing or inconsistent; UnsupportedError names a kind or a
// pre-tokenizer that headgauge does not know.
std::string gguf_tokenizer_json(const Gguf& file);

// Returns "BPE (GGUF, pre-tokenizer smollm)" or "none"; does not check for faults.
std::string gguf_tokenizer_kind(const Gguf& file);

}  // namespace headgauge
