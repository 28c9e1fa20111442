// The texts that a run measures on, as they are given: files, or what is in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace headgauge {

// A UTF-8 text or a list of token ids: a document.
struct Text {
  std::string name;     // the path of a file; else what errors and results call it
  bool is_ids = false;  // a list of token ids
  // What is in memory; both null for a file. A file of ids separates them by white space.
  std::shared_ptr<const std::string> utf8 = {};
  std::shared_ptr<const std::vector<int>> ids = {};

  bool is_file() const { return utf8 == nullptr && ids == nullptr; }
  // The SHA-256 of the file or of what is in memory; empty for a file that is not there.
  std::string sha256() const;
  bool operator==(const Text&) const = default;
};

using Texts = std::vector<Text>;

// Name files, each of which is a document.
Texts text_files(const std::vector<std::string>& paths);
Texts token_files(const std::vector<std::string>& paths);
// Make a document of what is in memory.
Text text_of(std::string utf8, std::string name = "text");
Text ids_of(std::vector<int> ids, std::string name = "tokens");

std::vector<std::string> names_of(const Texts& texts);

}  // namespace headgauge
