#include "cli/progress.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "faults.hpp"

namespace headgauge::cli {
namespace {

using std::chrono::milliseconds;

// A bar that writes to memory, and a clock that stands still until it is set.
class BarTest : public ::testing::Test {
 protected:
  ~BarTest() override {
    std::fclose(file_);
    std::free(buffer_);
  }
  ProgressBar bar(bool terminal, int width = 80) {
    return ProgressBar(file_, terminal, width, [this] { return now_; });
  }
  void wait(int ms) { now_ += milliseconds(ms); }
  // What was written since the last call.
  std::string written() {
    std::fflush(file_);
    std::string text(buffer_ + seen_, size_ - seen_);
    seen_ = size_;
    return text;
  }

 private:
  char* buffer_ = nullptr;
  std::size_t size_ = 0;
  std::size_t seen_ = 0;
  std::FILE* file_ = open_memstream(&buffer_, &size_);
  std::chrono::steady_clock::time_point now_{};
};

TEST_F(BarTest, TerminalShowsBarAndTimeLeft) {
  auto progress = bar(true);
  progress.update("layer 0", 0, 6);
  EXPECT_EQ(written(), "\r\x1b[Klayer 0 [........................]   0 %");
  wait(3000);
  progress.update("layer 2", 2, 6);
  EXPECT_EQ(written(), "\r\x1b[Klayer 2 [########................]  33 %  6 s left");
}

TEST_F(BarTest, TimeLeftOfAResumedRunCountsWhatIsStillToDo) {
  auto progress = bar(true);
  progress.resume(0.5);
  progress.update("layer 0", 0, 6);
  wait(1000);
  progress.update("layer 3", 3, 6);  // where the earlier run ended
  wait(2900);
  written();
  progress.update("layer 4", 4, 6);
  EXPECT_EQ(written(), "\r\x1b[Klayer 4 [################........]  67 %  6 s left");
}

TEST_F(BarTest, TerminalIsNotRedrawnMoreThanTenTimesASecond) {
  auto progress = bar(true);
  progress.update("a", 1, 100);
  written();
  wait(99);
  progress.update("a", 2, 100);
  EXPECT_EQ(written(), "");
  wait(1);
  progress.update("a", 3, 100);
  EXPECT_NE(written(), "");
}

TEST_F(BarTest, TerminalLineIsWipedAtTheEndAndOnlyOnce) {
  {
    auto progress = bar(true);
    progress.clear();
    EXPECT_EQ(written(), "") << "nothing drawn, nothing to wipe";
    progress.update("a", 1, 2);
    written();
    progress.clear();
    EXPECT_EQ(written(), "\r\x1b[K");
  }
  EXPECT_EQ(written(), "");
  {
    auto progress = bar(true);
    progress.update("a", 1, 2);
    written();
  }
  EXPECT_EQ(written(), "\r\x1b[K") << "wiped when an exception takes the bar away";
}

TEST_F(BarTest, TerminalLineNeverWraps) {
  auto progress = bar(true, 30);
  progress.update("a very long name of a stage indeed", 1, 2);
  EXPECT_EQ(written().size(), 29 + std::string("\r\x1b[K").size());
}

TEST_F(BarTest, ElsewhereALineEveryFiveSeconds) {
  auto progress = bar(false);
  progress.update("layer 0", 0, 4);
  wait(4999);
  progress.update("layer 1", 1, 4);
  EXPECT_EQ(written(), "");
  wait(5001);
  progress.update("layer 2", 2, 4);
  EXPECT_EQ(written(), "layer 2:  50 %  10 s left\n");
  progress.clear();
  EXPECT_EQ(written(), "");
}

TEST_F(BarTest, NoTotalIsNoDivisionByZero) {
  auto progress = bar(true);
  progress.update("a", 0, 0);
  expect_part(written(), "  0 %");
}

TEST(ReadableTime, RoundsUpAndKeepsTwoUnits) {
  EXPECT_EQ(readable_time(-1), "0 s");
  EXPECT_EQ(readable_time(8.2), "9 s");
  EXPECT_EQ(readable_time(59.5), "1 min 00 s");
  EXPECT_EQ(readable_time(125), "2 min 05 s");
  EXPECT_EQ(readable_time(3725), "1 h 02 min");
}

}  // namespace
}  // namespace headgauge::cli
