// Random choices for one case, one after another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "headgauge/base.hpp"

namespace headgauge {

class Draws {
 public:
  Draws(std::uint64_t seed, std::uint32_t task, std::uint32_t number)
      : stream_(seed, RandomDomain::task_case, task, number) {}

  // Returns a whole number from 0 to n - 1, all equally likely.
  Index below(Index n) {
    const auto range = static_cast<std::uint32_t>(n);
    // Words below this would make some results more likely than others.
    const std::uint32_t least = (0u - range) % range;
    for (;;) {
      const std::uint32_t word = next();
      if (word >= least) return static_cast<Index>(word % range);
    }
  }

  template <class T>
  const T& one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(std::ssize(list)))];
  }

 private:
  std::uint32_t next() {
    if (left_ == 0) {
      words_ = stream_.block(block_++);
      left_ = 4;
    }
    return words_[static_cast<std::size_t>(4 - left_--)];
  }

  RandomStream stream_;
  std::array<std::uint32_t, 4> words_{};
  std::uint32_t block_ = 0;
  int left_ = 0;  // words that are not used yet
};

}  // namespace headgauge
