// The temperature below which a row concentrates, whatever its number of keys (docs/mathematics.md
// G10).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

class CriticalTemperature {
 public:
  // Returns min over k >= 2 of (l_1 - l_k) / log k for the logits in falling order, all finite, of
  // which `least` and `most` are the extremes; undefined for fewer than two. Sorts only those near
  // the minimum.
  double find(std::span<const float> logits, float least, float most);

 private:
  static constexpr int kBins = 128;
  // A gap and the bin that it lies in.
  struct Gap {
    double gap = 0;
    int bin = 0;
  };

  // Puts the logits into bins by their gap, and counts them.
  void place(std::span<const float> logits, float most, float least);
  // Marks the bins in which the minimum may lie.
  void choose();

  std::vector<double> factors_;            // 1 / log k
  std::vector<std::uint8_t> bins_;         // of the logits
  std::array<Index, kBins + 1> before_{};  // keys in the bins before each bin, and in all
  std::array<std::uint8_t, kBins> chosen_{};
  std::vector<Gap> gaps_;
};

}  // namespace headgauge
