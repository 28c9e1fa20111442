// Text and token ids: the model's own tokenizer, and the files that texts and ids come from.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

class Checkpoint;
class Gguf;

// A model's tokenizer, run by the Hugging Face tokenizers library. It gives the whole text, and
// the same ids every time: truncation, padding and dropout are off whatever its file says.
// Encoding from several threads at once is safe.
class Tokenizer {
 public:
  // Reads `folder`/tokenizer.json or, where that is missing, vocab.json and merges.txt (byte-level
  // BPE as GPT-2 has it), or vocab.txt (WordPiece as BERT has it, with the switches of
  // tokenizer_config.json), or the tokenizer in the GGUF file of that name
  // (ResolvedModel::tokenizer()). Throws BadInputError if none is there or what is there is broken,
  // UnsupportedError where a GGUF file has one that headgauge does not know.
  static Tokenizer load(const std::string& folder);
  // That of a checkpoint: the one in its GGUF file, or load() of its folder.
  static Tokenizer load(const Checkpoint& checkpoint);
  // Names what load() would read, without looking for faults in it: "BPE (tokenizer.json)", "BPE
  // (vocab.json, merges.txt)", "BPE (GGUF, pre-tokenizer smollm)", "none".
  static std::string kind(const std::string& folder);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The ids of a UTF-8 text; `add_special` adds what the tokenizer's post-processor adds ([CLS],
  // <s> ...). Throws BadInputError if the text is not UTF-8, or holds something that the vocabulary
  // does not know and has no unknown token for.
  std::vector<int> encode(std::string_view utf8, bool add_special = true) const;

  // What the post-processor puts before and after a text.
  struct Around {
    std::vector<int> before, after;
  };
  // encode() in its parts: the ids of the text alone, and what stands around them.
  std::vector<int> encode(std::string_view utf8, Around& around) const;
  // The same, and what each of the ids stands for: pieces that are `utf8` when put together, or
  // its beginning where its end is of no token. What lies between two tokens (a space) goes to the
  // later one, a character of several tokens to the first of them.
  std::vector<int> encode(std::string_view utf8, Around& around,
                          std::vector<std::string>& texts) const;

  // The text of one token, to be shown: decoded where it stands for whole characters, else its
  // entry in the vocabulary. Empty if the tokenizer has no such id.
  std::string piece(int id) const;

  // The number of tokens, added ones included.
  int vocabulary() const;

  // The file that it was read from.
  const std::string& path() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  static Tokenizer load_gguf(const Gguf& file);
  static Tokenizer loaded(std::unique_ptr<Impl> impl, char* error);
  std::vector<int> encode_parts(std::string_view utf8, bool add_special, Around& around,
                                std::vector<std::string>* texts) const;
  std::unique_ptr<Impl> impl_;
};

// Reads a UTF-8 file, without the byte order mark it may begin with. Throws BadInputError
// that gives the offset of the first byte that is not UTF-8, or says that the file is empty.
std::string read_text_file(const std::string& path);
// Does the same with bytes that were read already; `path` is for messages.
std::string parse_text(std::string bytes, const std::string& path);

// Reads a file of whitespace-separated decimal numbers. Throws BadInputError that gives line
// and column (both from 1, the column in bytes) of what is not a token id, or says that the file
// is empty.
std::vector<int> read_token_ids(const std::string& path);
// The same of text that was read already; `path` is for messages.
std::vector<int> parse_token_ids(std::string_view text, const std::string& path);

// Throws BadInputError that names the first id outside [0, vocabulary) and where it stands;
// `where` is the file or document that the ids came from.
void check_ids(std::span<const int> ids, Index vocabulary, std::string_view where);

}  // namespace headgauge
