// Computes how far a softmax moves when its logits take a step (docs/mathematics.md D4.2), for one
// row at many temperatures and step sizes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// Scratch memory of one thread, reused between rows.
struct SensitivityWorkspace {
  AlignedVector<float> fall;     // l_i - (largest logit of the others)
  AlignedVector<float> slope;    // v_i - v of the largest logit
  AlignedVector<float> weights;  // at the present temperature and at the next
  AlignedVector<float> moved;    // a row for each epsilon: (l + eps v)_i - (its largest)
  std::vector<double> gap;       // by epsilon: moved_i of the largest; NaN if not computed
  AlignedVector<double> base64, moved64;
  std::size_t recomputed = 0;  // gains recomputed in float64 since the workspace was made
};

// Computes gains[t * epsilons.size() + e] = ||softmax((l + eps v)/T) - softmax(l/T)||_2 / eps for
// every temperature T and step eps, all positive. `v` has the size of `logits`, which are finite
// and not empty. The relative error is at most 5e-6, typically 3e-7.
void softmax_sensitivity(std::span<const float> logits, std::span<const double> v,
                         std::span<const double> temperatures, std::span<const double> epsilons,
                         SensitivityWorkspace& work, std::span<double> gains);

}  // namespace headgauge
