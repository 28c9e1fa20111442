// Files that the tests of this folder read and write.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/tokenize.hpp"
#include "test_data.hpp"

namespace headgauge {

#define SKIP_WITHOUT(path)                                                     \
  if (!std::filesystem::exists(path)) {                                        \
    GTEST_SKIP() << path << " is absent (HEADGAUGE_TEST_DATA names its root)"; \
  }

inline std::filesystem::path data_root() {
  return testing::shared_path("");
}

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

using Ids = std::vector<int>;

// The input texts and expected ids of a llama.cpp vocabulary test.
struct Vector {
  std::string text;
  Ids ids;
};
inline std::vector<Vector> read_vectors(const std::string& name) {
  const std::filesystem::path stem =
      data_root() / "tokenizers/vectors" / ("ggml-vocab-" + name + ".gguf");
  std::istringstream lines(slurp(stem.string() + ".out"));
  std::string inputs = slurp(stem.string() + ".inp");
  const std::string separator = "\n__ggml_vocab_test__\n";
  std::vector<Vector> vectors;
  for (std::string line; std::getline(lines, line);) {
    Vector v;
    const auto cut = inputs.find(separator);
    v.text = inputs.substr(0, cut);
    inputs.erase(0, cut == std::string::npos ? cut : cut + separator.size());
    std::istringstream words(line);
    for (int id; words >> id;) v.ids.push_back(id);
    vectors.push_back(std::move(v));
  }
  return vectors;
}

// Compares the ids of the golden texts (tests/golden/make_pre_tokenizer_golden.py: a plain
// implementation in Python) under this name.
inline void expect_golden(const Tokenizer& tokenizer, const std::string& name,
                          bool with_special = true) {
  const auto golden =
      nlohmann::json::parse(slurp(testing::source_path("tests/golden/gguf/pre_tokenizers.json")));
  for (std::size_t i = 0; i < golden["texts"].size(); ++i) {
    const auto text = golden["texts"][i].get<std::string>();
    EXPECT_EQ(tokenizer.encode(text, with_special), golden["ids"][name][i].get<Ids>())
        << name << ": " << text;
  }
}

class TemporaryFolder : public testing::TemporaryFolder {
 public:
  TemporaryFolder() : testing::TemporaryFolder("tokenize") {}
  // Writes a file into the folder and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string path = *this / name;
    // Some file systems flush a file that is overwritten, which a new one is spared.
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
};

// What the Error that `body` throws says; "no error" if it throws none.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "more than one line";
    return error.what();
  }
  return "no error";
}

}  // namespace headgauge
