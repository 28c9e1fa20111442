// The texts of a run: files, or contents in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace headgauge {

// One document: a UTF-8 text or a list of token ids.
struct Text {
  std::string name;     // the path of a file; else the name in errors and results
  bool is_ids = false;  // a list of token ids
  // Contents in memory; both null for a file. In a file white space separates ids.
  std::shared_ptr<const std::string> utf8 = {};
  std::shared_ptr<const std::vector<int>> ids = {};

  bool is_file() const { return utf8 == nullptr && ids == nullptr; }
  // Returns the SHA-256 of the file or of the contents in memory; empty for a missing file.
  std::string sha256() const;
  bool operator==(const Text&) const = default;
};

using Texts = std::vector<Text>;

// Make one document of each file.
Texts text_files(const std::vector<std::string>& paths);
Texts token_files(const std::vector<std::string>& paths);
// Make a document of contents in memory.
Text text_of(std::string utf8, std::string name = "text");
Text ids_of(std::vector<int> ids, std::string name = "tokens");

std::vector<std::string> names_of(const Texts& texts);

}  // namespace headgauge
