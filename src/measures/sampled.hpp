// The expected distance by Monte Carlo: the mean distance of uniformly random sets
// (docs/mathematics.md 2, T1.2).
#pragma once

#include <vector>

#include "base/random.hpp"
#include "measures/selection_block.hpp"

namespace headgauge {

class SampledDistances {
 public:
  // Mean distance over `draws` random sets of each size of the row, and the squared standard error
  // of that mean. The sets of one draw are prefixes of one random order of the keys.
  struct Estimate {
    double mean = 0;
    double variance = 0;
  };
  std::span<const Estimate> draw(const SelectionBlock::Line& line, const Gram& gram,
                                 std::span<const int> sizes, int draws, const RandomStream& random);

 private:
  // One draw of a batch.
  struct Draw {
    std::vector<std::uint32_t> columns;  // in the order drawn
    std::vector<std::uint32_t> rows;     // of the Gram matrix
    std::vector<float> weights;
    std::vector<std::int32_t> rank;  // by column
  };
  void shuffle(const SelectionBlock::Line& line, const Gram& gram, int largest,
               std::uint32_t number, const RandomStream& random, Draw& to);

  std::vector<Draw> batch_;
  std::vector<std::uint32_t> order_;
  std::vector<int> no_events_;
  AlignedVector<float> stored_;  // batch x sizes x columns
  std::vector<PrefixSums> prefixes_;
  std::vector<Estimate> estimates_;
};

}  // namespace headgauge
