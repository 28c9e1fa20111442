#include "headgauge/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace headgauge {
namespace {

TEST(ThreadPool, EachIndexOnceAndSlotsInRange) {
  for (int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    std::vector<std::atomic<int>> seen(1000);
    std::atomic<bool> in_range{true};
    pool.for_each_slot(1000, [&](Index i, int slot) {
      ++seen[i];
      if (slot < 0 || slot >= threads) in_range = false;
    });
    EXPECT_TRUE(in_range);
    for (auto& count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(ThreadPool, RethrowsWhatABodyThrows) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.for_each(100,
                             [](Index i) {
                               if (i == 57) throw std::runtime_error("57");
                             }),
               std::runtime_error);
}

// Whichever thread is first to throw, and however many there are.
TEST(ThreadPool, RethrowsTheExceptionOfTheSmallestIndex) {
  constexpr Index kBodies = 400, kFirst = 150;
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int trial = 0; trial < 50; ++trial) {
      std::atomic<Index> below{0};
      try {
        pool.for_each(kBodies, [&](Index i) {
          if (i < kFirst) ++below;
          if (i >= kFirst) throw std::runtime_error(std::to_string(i));
        });
        ADD_FAILURE() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_EQ(error.what(), std::to_string(kFirst));
      }
      EXPECT_EQ(below, kFirst);
    }
  }
}

}  // namespace
}  // namespace headgauge
