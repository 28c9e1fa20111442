// Prepares a row for the sensitivity loops over temperatures and steps, and computes a gain in
// float64 if float32 is not precise enough.
#pragma once

#include <cstddef>
#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// A logit so low that its weight is 0 at every temperature up to 1e20.
inline constexpr float kNoWeight = -1e30f;

struct LargestLogits {
  std::size_t first = 0;  // position of the largest logit; the lowest of ties
  float second = 0;       // the largest of the other logits
};
// Needs at least two logits.
LargestLogits find_largest(std::span<const float> logits);

// The range of v_i - v_first, which includes 0.
struct SlopeRange {
  float low = 0, high = 0;
};
// Sets fall_i = l_i - l_second, kNoWeight for the first; slope_i = v_i - v_first.
SlopeRange start_row(std::span<const float> logits, std::span<const double> v,
                     LargestLogits largest, std::span<float> fall, std::span<float> slope);

// Sets moved_i = (l + eps v)_i - (the largest of these without `first`), and kNoWeight for `first`;
// returns this difference for `first`.
double move_row(std::span<const float> logits, std::span<const double> v, double epsilon,
                std::size_t first, std::span<float> moved);

// Computes ||softmax((l + eps v)/T) - softmax(l/T)||_2 / eps; `first` is the position of the
// largest logit; `a` and `b` are workspaces.
double gain_in_float64(std::span<const float> logits, std::span<const double> v, std::size_t first,
                       double temperature, double epsilon, AlignedVector<double>& a,
                       AlignedVector<double>& b);

}  // namespace headgauge
