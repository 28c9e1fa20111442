// What is done with the files of a tokenizer, with texts and with files of token ids.
#pragma once

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/contract.hpp"
#include "headgauge/tokenize.hpp"
#include "tokenize/text_checker.hpp"

namespace headgauge::fuzzing {

// A folder of this process with the files of a tokenizer in it, which goes with it.
class TokenizerFolder {
 public:
  TokenizerFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "headgauge-fuzz-XXXXXX").string();
    require(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TokenizerFolder() {
    std::error_code ignored;  // it is in the way of nobody
    std::filesystem::remove_all(path_, ignored);
  }
  TokenizerFolder(const TokenizerFolder&) = delete;
  TokenizerFolder& operator=(const TokenizerFolder&) = delete;

  std::string path() const { return path_.string(); }
  void write(const char* name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path path_;
};

inline void use_tokenizer(const std::string& folder) {
  const Tokenizer tokenizer = Tokenizer::load(folder);
  static_cast<void>(tokenizer.vocabulary());
  for (int id = 0; id < 8; ++id) {
    works_or_is_refused([&] { static_cast<void>(tokenizer.piece(id)); });
  }
  for (const std::string_view text : {"", "one", "one ones <|e|>\n one\xC3\xA9 \xF0\x9F\xA6\x99"}) {
    works_or_is_refused([&] {
      Tokenizer::Around around;
      std::vector<std::string> texts;
      const std::vector<int> ids = tokenizer.encode(text, around, texts);
      // What the tokens stand for is the text, or its beginning.
      std::string joined;
      for (const std::string& piece : texts) joined += piece;
      require(texts.size() == ids.size() && text.starts_with(joined));
      for (const int id : ids) static_cast<void>(tokenizer.piece(id));
      require(tokenizer.encode(text, false).size() == ids.size());
    });
  }
}

// A tokenizer.json; or two files with a zero byte between them: vocab.json and merges.txt where the
// first begins as an object does, else vocab.txt and tokenizer_config.json.
inline void read_tokenizer(std::span<const std::byte> bytes) {
  static const TokenizerFolder json, pair, words;
  const std::string_view text = text_of(bytes);
  const std::size_t zero = text.find('\0');
  if (zero == text.npos) {
    json.write("tokenizer.json", text);
    return use_tokenizer(json.path());
  }
  const bool of_pair = text.starts_with('{');
  const TokenizerFolder& folder = of_pair ? pair : words;
  folder.write(of_pair ? "vocab.json" : "vocab.txt", text.substr(0, zero));
  folder.write(of_pair ? "merges.txt" : "tokenizer_config.json", text.substr(zero + 1));
  use_tokenizer(folder.path());
}

// Whether `read` gives a value or refuses, both as `other` does.
template <class Read>
std::string outcome(const Read& read) {
  try {
    return "works: " + read();
  } catch (const Error& error) {
    require_one_line(error.what());
    return error.what();
  }
}

// Token ids, and the same bytes as a text: at once and in pieces, which must make no difference.
inline void read_ids(std::span<const std::byte> bytes) {
  const std::string_view text = text_of(bytes);
  const std::string path = "input";
  const std::string whole = outcome([&] { return parse_text(std::string(text), path); });
  for (const std::size_t size : {1, 2, 3, 5}) {
    const std::string in_pieces = outcome([&] {
      std::string characters;
      TextChecker checker(path, [&](std::string_view piece) { characters += piece; });
      for (std::size_t at = 0; at < text.size(); at += size) checker.add(text.substr(at, size));
      checker.finish();
      return characters;
    });
    require(in_pieces == whole);
  }
  const std::vector<int> ids = parse_token_ids(text, path);
  require(!ids.empty());
  check_ids(ids, 50257, path);
}

}  // namespace headgauge::fuzzing
