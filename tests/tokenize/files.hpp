// Files that the tests of this folder read and write.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "headgauge/base.hpp"

namespace headgauge {

// The folder of shared test data; it may be absent.
inline std::filesystem::path data_root() {
  if (const char* root = std::getenv("HEADGAUGE_TEST_DATA")) return root;
  return std::filesystem::path(HEADGAUGE_SOURCE_DIR) / "../shared/data";
}

#define SKIP_WITHOUT(path)                                                                \
  if (!std::filesystem::exists(path)) {                                                   \
    GTEST_SKIP() << (path).string() << " is absent (HEADGAUGE_TEST_DATA names its root)"; \
  }

inline std::string slurp(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// A folder that is gone when the test is over.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "headgauge-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path() const { return path_.string(); }
  // Writes a file into the folder and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    // Some file systems flush a file that is overwritten, which a new one is spared.
    std::filesystem::remove(path_ / name);
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
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
