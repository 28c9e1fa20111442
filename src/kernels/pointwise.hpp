// Weights of normalizers that apply a function to each logit, in two or three passes over the row:
// the extremes of the logits; the function with the sums of softmax.hpp; and the factor, if the
// weights are divided by a sum of the row.
#pragma once

#include <span>

#include "headgauge/kernels.hpp"

namespace headgauge {

// Functions h >= 0 of x = l + shift. On any row h is largest at the smallest or the largest logit.
enum class PointwiseFunction {
  kSigmoid,     // 1/(1 + e^-x), divided by nothing
  kSoftpick,    // relu(e^x - 1), divided by sum |e^x - 1| + 1e-8
  kSelfAdjust,  // e^x (x - m)/(M - m), m = min(min x, 0), M = max(max x, 0), divided by sum e^x
};

// a_i = h(l_i + shift), divided by the divisor of the function.
struct PointwiseKernel {
  PointwiseFunction function = PointwiseFunction::kSigmoid;
  float shift = 0;
};

// Computes weights and their sums; log_sum_exp is 0. `weights` has the size of `logits`, which are
// not empty, and may be the same memory; it is empty if only the sums are needed. The relative
// error of a weight is 2e-6 + 2e-7 |log a|, of the sums 2e-6.
// Returns false and writes nothing if float32 is not enough: a logit is NaN or infinite, the
// largest h is outside [1e-10, 1e10] and not 0, or the processor has no vectors.
bool weigh_pointwise(const PointwiseKernel& kernel, std::span<const float> logits,
                     std::span<float> weights, WeightSums& sums);

// Computes out_j = c tanh(in_j / c), c > 0, to 1e-6 relative; NaN if in_j is NaN or infinite. `out`
// may be `in`.
void cap_row(std::span<const float> in, float cap, std::span<float> out);

}  // namespace headgauge
