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

// A model's tokenizer, run by the Hugging Face tokenizers library. It tokenizes the whole text and
// always gives the same ids: truncation, padding and dropout are off whatever its file says.
// Encoding from several threads at once is safe.
class Tokenizer {
 public:
  // Reads `folder`/tokenizer.json with the tokens that other files of the folder add; if that is
  // missing, vocab.json and merges.txt
  // (byte-level BPE), or vocab.txt (WordPiece), as the class in tokenizer_config.json does. If
  // `folder` names a GGUF file (ResolvedModel::tokenizer()), reads the tokenizer in it. Throws
  // BadInputError if there is none or if it is broken, UnsupportedError if headgauge does not know
  // the tokenizer or if the files contradict each other.
  static Tokenizer load(const std::string& folder);
  // Reads the tokenizer of a checkpoint: the one in its GGUF file, or load() of its folder.
  static Tokenizer load(const Checkpoint& checkpoint);
  // Names what load() would read, without checking it for faults: "BPE (tokenizer.json)", "BPE
  // (vocab.json, merges.txt)", "BPE (GGUF, pre-tokenizer smollm)", "none".
  static std::string kind(const std::string& folder);

  // Says that the class of the folder splits texts otherwise in transformers 5; empty if it does
  // not.
  const std::string& notice() const;

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Returns the ids of a UTF-8 text; `add_special` adds the ids of the tokenizer's post-processor
  // ([CLS], <s> ...). Throws BadInputError if the text is not UTF-8, or has something that is not
  // in the vocabulary of a tokenizer without an unknown token.
  std::vector<int> encode(std::string_view utf8, bool add_special = true) const;

  // The ids that the post-processor puts before and after a text.
  struct Around {
    std::vector<int> before, after;
  };
  // Returns the ids of the text alone; `around` receives those that the post-processor adds.
  std::vector<int> encode(std::string_view utf8, Around& around) const;
  // Does the same and sets `texts` to the text of each id. Concatenated they are `utf8`, or its
  // beginning if no token covers its end. The text between two tokens (a space) goes to the later
  // one, a character made of several tokens to the first of them.
  std::vector<int> encode(std::string_view utf8, Around& around,
                          std::vector<std::string>& texts) const;

  // Returns the text of one token for display: decoded if it covers whole characters, else its
  // entry in the vocabulary. Empty if the tokenizer has no such id.
  std::string piece(int id) const;

  // Returns the text of several tokens, special ones included. Ids must be below vocabulary().
  std::string decode(std::span<const int> ids) const;

  // Returns the SHA-256 of the text of every token in the order of the ids, in lower-case hex. Two
  // tokenizers with the same sum give the same meaning to every id.
  std::string sha256() const;

  // Returns the number of tokens, including added ones.
  int vocabulary() const;

  // Returns the file that the tokenizer was read from.
  const std::string& path() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  static Tokenizer load_gguf(const Gguf& file);
  static Tokenizer loaded(const std::string& path, std::string_view json, std::string_view added);
  std::vector<int> encode_parts(std::string_view utf8, bool add_special, Around& around,
                                std::vector<std::string>* texts) const;
  std::unique_ptr<Impl> impl_;
};

// Reads a UTF-8 file without its byte order mark. Throws BadInputError that gives the offset of the
// first byte that is not UTF-8, or says that the file is empty.
std::string read_text_file(const std::string& path);
// Does the same with bytes that were already read; `path` is for messages.
std::string parse_text(std::string bytes, const std::string& path);

// Reads a file of decimal numbers separated by whitespace. Throws BadInputError that gives line and
// column (both from 1, the column in bytes) of what is not a token id, or says that the file is
// empty.
std::vector<int> read_token_ids(const std::string& path);
// Does the same with text that was already read; `path` is for messages.
std::vector<int> parse_token_ids(std::string_view text, const std::string& path);

// Throws BadInputError that names the first id outside [0, vocabulary) and its place; `where` is
// the file or document that the ids came from.
void check_ids(std::span<const int> ids, Index vocabulary, std::string_view where);

}  // namespace headgauge
