#include "base/mapped_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "faults.hpp"
#include "headgauge/base.hpp"
#include "headgauge/faults.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(path_) << std::string(3 * kPage, 'a'); }

  std::string change(const MappedFile& file) const {
    return thrown<BadInputError>([&] { file.require_unchanged(); });
  }

  static constexpr std::size_t kPage = 65536;
  testing::TemporaryFolder folder_{"mapped-file"};
  const std::string path_ = folder_ / "file";
};

[[noreturn]] void say_what_is_lost(int, siginfo_t* info, void*) {
  const char* message = lost_bytes_message(info->si_addr);
  static_cast<void>(!::write(STDERR_FILENO, message, std::strlen(message)));
  ::_exit(3);
}

TEST_F(MappedFileTest, SaysWhatChanged) {
  const MappedFile file(path_);
  EXPECT_EQ(change(file), "nothing");
  std::ofstream(path_, std::ios::app) << 'b';
  expect_part(change(file), "196609 bytes instead of 196608");
  std::filesystem::rename(path_, path_ + ".old");
  expect_part(change(file), "No such file");
  std::filesystem::copy_file(path_ + ".old", path_);
  expect_part(change(file), "another file under its name");
  std::filesystem::remove(path_ + ".old");
}

TEST_F(MappedFileTest, NamesTheFileAtAnAddress) {
  const char* message = nullptr;
  const std::byte* data = nullptr;
  {
    const MappedFile first(path_), second(path_);
    data = first.bytes().data();
    message = lost_bytes_message(data + 3 * kPage - 1);
    ASSERT_NE(message, nullptr);
    EXPECT_EQ(std::string(message).rfind(path_ + ": expected the 196608 bytes", 0), 0u);
    EXPECT_EQ(lost_bytes_message(&data), nullptr);
  }
  EXPECT_EQ(lost_bytes_message(data), nullptr);
  const MappedFile again(path_);
  EXPECT_NE(lost_bytes_message(again.bytes().data()), nullptr);
}

TEST_F(MappedFileTest, ReleasedBytesAreReadAgain) {
  const MappedFile file(path_);
  const auto sum = [](std::span<const std::byte> bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::size_t{0},
                           [](std::size_t all, std::byte b) { return all + std::size_t(b); });
  };
  const std::size_t before = sum(file.bytes());
  EXPECT_GE(testing::resident_kib(path_), 3 * kPage / 1024);
  release_mapped(file.bytes().subspan(1, kPage));
  EXPECT_LE(testing::resident_kib(path_), 2 * kPage / 1024);
  EXPECT_EQ(sum(file.bytes()), before);
  // Memory that is not of a file keeps what it has.
  std::vector<std::byte> own(kPage, std::byte{7});
  release_mapped(own);
  EXPECT_EQ(sum(own), 7 * kPage);
}

TEST_F(MappedFileTest, AReadOfWhatWasCutOffNamesTheFile) {
  const auto read_what_is_gone = [&] {
    struct sigaction action {};
    action.sa_sigaction = say_what_is_lost;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGBUS, &action, nullptr);
    const MappedFile file(path_);
    std::filesystem::resize_file(path_, 1);
    volatile std::byte last = file.bytes().back();
    static_cast<void>(last);
  };
  EXPECT_EXIT(read_what_is_gone(), ::testing::ExitedWithCode(3), "fewer bytes; run again");
}

}  // namespace
}  // namespace headgauge
