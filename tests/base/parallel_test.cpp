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
      ++seen[static_cast<std::size_t>(i)];
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

}  // namespace
}  // namespace headgauge
