// Thousands of damaged files, the same in every run: whatever is in them, reading either works or
// throws an Error in one line. The fuzz targets in fuzz/ go further from the same seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <sstream>

#include "fuzz/readers.hpp"
#include "made_file.hpp"

namespace headgauge {
namespace {

using testing::as_bytes;

class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, bool has_header)
      : seeds_(std::move(seeds)), has_header_(has_header) {}

  std::string next() {
    std::string bytes = seeds_[below(seeds_.size())];
    const std::size_t header = has_header_ ? header_length(bytes) : 0;
    const std::size_t size_before = bytes.size();
    const std::size_t changes = 1 + below(3);
    for (std::size_t i = 0; i < changes; ++i) change(bytes);
    // Half of the changes in length would stop at the length field, so mend it: what lies behind
    // is to be reached too.
    if (has_header_ && bytes.size() >= 8 && below(2) == 0) {
      const std::uint64_t mended = header + bytes.size() - size_before;
      std::memcpy(bytes.data(), &mended, 8);
    }
    return bytes;
  }

 private:
  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }

  static std::size_t header_length(const std::string& bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    return static_cast<std::size_t>(length);
  }

  // Beyond the length field more often than not.
  std::size_t position(const std::string& bytes) {
    const std::size_t first =
        has_header_ && below(8) != 0 ? std::min<std::size_t>(8, bytes.size()) : 0;
    return first + below(bytes.size() - first);
  }

  void change(std::string& bytes) {
    static const std::vector<std::string> kTokens = [] {
      std::istringstream words(
          "0 1 -1 9223372036854775807 18446744073709551615 18446744073709551616 4294967296 1e308 "
          "1e999 0.5 null true \" { } [ ] , : \"F32\" \"F16\" \"F4\" \"I64\" "
          "\"__metadata__\" \"data_offsets\" \\u0000 \\ud800 \xff \xC3 \n layers.1. "
          "layers.99. scores true");
      std::vector<std::string> tokens;
      for (std::string word; std::getline(words, word, ' ');) tokens.push_back(word);
      return tokens;
    }();
    if (bytes.empty()) return;
    const std::size_t at = position(bytes);
    const std::size_t count = std::min(bytes.size() - at, 1 + below(16));
    if (at >= bytes.size()) return;
    switch (below(9)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(below(256));
        break;
      case 2:
        bytes.erase(at, count);
        break;
      case 3:
        bytes.insert(at, bytes.substr(at, count));
        break;
      case 4:
        bytes.resize(at);
        break;
      case 5:
        bytes.insert(at, kTokens[below(kTokens.size())]);
        break;
      case 6:
        replace_number(bytes, at, kTokens[below(11)]);
        break;
      case 7: {
        const std::string& other = seeds_[below(seeds_.size())];
        bytes = bytes.substr(0, at) + other.substr(below(other.size()));
        break;
      }
      default:
        bytes.append(below(64), static_cast<char>(below(256)));
    }
  }

  // Puts another number in place of the first one at or behind `at`.
  static void replace_number(std::string& bytes, std::size_t at, const std::string& number) {
    const std::size_t begin = bytes.find_first_of("0123456789", at);
    if (begin == std::string::npos) return;
    const std::size_t end = bytes.find_first_not_of("0123456789", begin);
    bytes.replace(begin, end == std::string::npos ? end : end - begin, number);
  }

  std::vector<std::string> seeds_;
  bool has_header_;
  std::mt19937_64 random_{20240607};
};

std::vector<std::string> seeds(const std::string& kind) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file :
       std::filesystem::directory_iterator(testing::source_path("fuzz/corpus/" + kind))) {
    paths.push_back(file.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> contents;
  for (const auto& path : paths) contents.push_back(testing::read_bytes(path.string()));
  return contents;
}

using Reader = std::function<void(std::span<const std::byte>)>;

void survive(const std::string& kind, bool has_header, const Reader& read) {
  constexpr int kRounds = 20000;
  Mutator mutator(seeds(kind), has_header);
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string bytes = mutator.next();
    // An allocation of its own, so that a sanitizer sees a read beyond the end.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    try {
      read(std::as_bytes(std::span(exact)));
    } catch (const Error& error) {
      ++refused;
      const std::string message = error.what();
      ASSERT_NE(message.find("input"), std::string::npos) << "round " << round << ": " << message;
      ASSERT_EQ(message.find('\n'), std::string::npos) << "round " << round << ": " << message;
      ASSERT_TRUE(error.kind() == ErrorKind::bad_input || error.kind() == ErrorKind::unsupported)
          << "round " << round << ": " << message;
    } catch (const std::exception& error) {
      FAIL() << "round " << round << ": not an Error: " << error.what();
    }
  }
  // The mutations neither miss everything that matters nor break everything.
  EXPECT_GT(refused, kRounds / 4);
  EXPECT_LT(refused, kRounds);
}

TEST(Mutation, SeedsAreRead) {
  for (const std::string& bytes : seeds("safetensors")) fuzzing::read_safetensors(as_bytes(bytes));
  for (const std::string& bytes : seeds("dump")) fuzzing::read_dump(as_bytes(bytes));
  const std::string whole_model =
      testing::read_bytes(testing::source_path("fuzz/corpus/gguf/llama.gguf"));
  fuzzing::read_gguf(as_bytes(whole_model));
  EXPECT_EQ(seeds("gguf").size(), 3u);
  EXPECT_EQ(seeds("safetensors").size(), 3u);
  EXPECT_EQ(seeds("dump").size(), 3u);
  EXPECT_EQ(seeds("config").size(), 3u);
}

TEST(Mutation, SafetensorsAreReadOrRefused) {
  survive("safetensors", true, fuzzing::read_safetensors);
}
TEST(Mutation, DumpsAreReadOrRefused) {
  survive("dump", true, fuzzing::read_dump);
}
TEST(Mutation, GgufFilesAreReadOrRefused) {
  survive("gguf", false, fuzzing::read_gguf);
}
TEST(Mutation, ConfigsAreReadOrRefused) {
  survive("config", false, fuzzing::read_config);
}

// Of the first `length` bytes of `whole`, and fewer.
void refuse_cut(const std::string& whole, std::size_t length, const Reader& read) {
  for (std::size_t size = 0; size < length; ++size) {
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    testing::expect_error({"input"}, [&] { read(std::as_bytes(std::span(cut))); });
  }
}

TEST(Mutation, DumpsAreRefusedWhenCutAnywhere) {
  for (const std::string& whole : seeds("dump")) {
    refuse_cut(whole, whole.size(), fuzzing::read_dump);
  }
}
TEST(Mutation, GgufFilesAreRefusedWhenCutAnywhere) {
  const std::string whole =
      testing::read_bytes(testing::source_path("fuzz/corpus/gguf/llama.gguf"));
  refuse_cut(whole, whole.size(), fuzzing::read_gguf);
}

}  // namespace
}  // namespace headgauge
