// The temperature below which a row concentrates, whatever its number of keys (docs/mathematics.md
// G10).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

class CriticalTemperature {
 public:
  // Returns min over k >= 2 of (l_1 - l_k) / log k for the logits in falling order; undefined with
  // fewer than two finite ones. Sorts only the logits near the minimum.
  double find(std::span<const float> logits);

 private:
  static constexpr int kBins = 128;
  // A gap and the bin that it lies in.
  struct Gap {
    double gap = 0;
    int bin = 0;
  };

  // Counts the keys of each bin of gaps; returns the number of finite logits.
  Index count(std::span<const float> logits, float largest);
  // Marks the bins in which the minimum may lie.
  void choose();

  double scale_ = 0;             // bins for each unit of gap
  std::vector<double> factors_;  // 1 / log k
  std::vector<Index> before_;    // keys in the bins before each bin, and in all
  std::vector<std::uint8_t> chosen_;
  std::vector<Gap> gaps_;
};

}  // namespace headgauge
