// Files that the tests of this folder read and write.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "headgauge/base.hpp"
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
