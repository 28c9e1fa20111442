// The moments of the cosines between the keys of a row, and what they prove of separability if the
// keys are dealt to the weights at random (docs/mathematics.md T2d).
#pragma once

#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "measures/gram.hpp"

namespace headgauge {

// The cosines g_jk of distinct keys, split into g_jk = k + h_j + h_k + d_jk, where the h_j and each
// row of d sum to 0.
struct KeyMoments {
  double keys = 0;             // n
  double cosine = kUndefined;  // k; undefined with fewer than two keys or a key of length 0
  double of_keys = 0;          // sum of h_j^2 / (n - 1)
  double of_pairs = 0;         // mean of d_jk^2
};

// Computes the moments of the visible keys of the queries 0 .. length - 1, in O(length) for each
// key that a query sees and the query before does not, or the reverse. Returns nothing if those are
// more than kMostChanges for each query on average, because a mask chooses other keys each time.
// The matrix must have its products. A mask must not read the logits.
inline constexpr Index kMostChanges = 4;
std::vector<KeyMoments> key_moments(const Gram& gram, const Visibility& visibility, Index length);

// Returns a lower bound of the expected separability when the keys are dealt to the weights at
// random. `members` are the largest weights, none below 0, and `next` is the largest of the others.
double dealt_separability_lower(std::span<const float> members, double next,
                                const KeyMoments& moments);

}  // namespace headgauge
