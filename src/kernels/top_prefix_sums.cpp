#include "kernels/top_prefix_sums.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"
#include "kernels/top_prefixes.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/top_prefix_sums.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/top_prefixes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

// Computes sum + 2 sqrt(x) for x >= kTiny: one Newton step on the estimate r of 1 / sqrt(x), y (3 -
// y r) with y = x r.
HWY_INLINE V add_twice_root(V sum, V x) {
  const D d;
  const V r = hn::ApproximateReciprocalSqrt(x);
  const V y = hn::Mul(x, r);
  return hn::MulAdd(y, hn::NegMulAdd(y, r, hn::Set(d, 3.0f)), sum);
}

HWY_INLINE double sum_lanes(V sum) {
  const D d;
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(sum, d, lanes);
  double total = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) total += lanes[i];
  return total;
}

ScaledSums scale(const float* HWY_RESTRICT weight, const float* HWY_RESTRICT norm, std::size_t n,
                 float* HWY_RESTRICT scaled) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V absolute = hn::Zero(d), square = absolute;
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    const V w = hn::Mul(hn::LoadU(d, weight + j), hn::LoadU(d, norm + j));
    hn::StoreU(w, d, scaled + j);
    absolute = hn::Add(absolute, hn::Abs(w));
    square = hn::MulAdd(w, w, square);
  }
  ScaledSums sums{sum_lanes(absolute), sum_lanes(square)};
  for (; j < n; ++j) {
    scaled[j] = weight[j] * norm[j];
    sums.absolute += std::abs(scaled[j]);
    sums.square += static_cast<double>(scaled[j]) * scaled[j];
  }
  return sums;
}

double distance_sum(const float* weight, const std::int32_t* rank, const float* product,
                    std::size_t n, int size, float set_square) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V s2 = hn::Set(d, set_square), tiny = hn::Set(d, kTiny);
  V sum = hn::Zero(d);
  for (std::size_t j = 0; j < n; j += lanes) {
    const V w = hn::LoadU(d, weight + j);
    const V lean = hn::NegMulAdd(hn::Set(d, 2.0f), hn::LoadU(d, product + j), w);
    const V a = hn::Max(hn::MulAdd(w, lean, s2), tiny);
    sum = add_twice_root(sum, hn::IfThenElse(outside(rank + j, size), a, tiny));
  }
  return 0.5 * sum_lanes(sum);
}

ExpectedSums expected_sums(const float* weight, const float* projection, const float* norm,
                           std::size_t n, const ExpectedCoefficients& c) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V tiny = hn::Set(d, kTiny);
  const V scale = hn::Set(d, c.main_scale), linear = hn::Set(d, c.main_linear);
  const V constant = hn::Set(d, c.main_constant), total = hn::Set(d, c.total_square);
  const V square = hn::Set(d, c.upper_square), cross = hn::Set(d, c.upper_linear);
  const V rest = hn::Set(d, c.upper_constant), spread = hn::Set(d, c.spread);
  V main = hn::Zero(d), upper = main, context = main;
  for (std::size_t j = 0; j < n; j += lanes) {
    const V y = hn::LoadU(d, weight + j), z = hn::LoadU(d, projection + j);
    const V y1 = hn::Mul(scale, y);
    const V a = hn::Max(hn::MulAdd(y1, hn::NegMulAdd(linear, z, y1), constant), tiny);
    main = add_twice_root(main, a);
    const V b = hn::MulAdd(y, hn::MulAdd(square, y, hn::Mul(cross, z)), rest);
    upper = add_twice_root(upper, hn::Max(a, b));
    const V t = hn::MulAdd(spread, hn::LoadU(d, norm + j), y);
    const V e = hn::MulAdd(t, hn::NegMulAdd(hn::Set(d, 2.0f), z, t), total);
    context = add_twice_root(context, hn::Max(e, tiny));
  }
  return {0.5 * sum_lanes(main), 0.5 * sum_lanes(upper), 0.5 * sum_lanes(context)};
}

float farthest(const float* gram, const float* norm, const std::int32_t* rank, int size,
               float scale) {
  const D d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const V twice = hn::Set(d, 2.0f * scale), none = hn::Set(d, -kInfinite);
  V far = none;
  for (Index j = 0; j < kPrefixColumns; j += lanes) {
    const V x = hn::LoadU(d, norm + j);
    const V value = hn::Mul(x, hn::NegMulAdd(twice, hn::LoadU(d, gram + j), x));
    far = hn::Max(far, hn::IfThenElse(outside(rank + j, size), value, none));
  }
  return hn::GetLane(hn::MaxOfLanes(d, far));
}

// A panel's bound and the value found in it may be the same number, rounded differently.
constexpr float kRounding = 1e-6f;

float search(const float* gram, Index panel_floats, const float* norm, const std::int32_t* rank,
             const float* promise, Index panels, int size, float scale, float best) {
  float limit = best + kRounding * (std::abs(best) + scale * scale);
  for (Index p = 0; p < panels; ++p) {
    if (promise[p] <= limit) continue;
    best = std::max(best, farthest(gram + p * panel_floats, norm + p * kPrefixColumns,
                                   rank + p * kPrefixColumns, size, scale));
    limit = best + kRounding * (std::abs(best) + scale * scale);
  }
  return best;
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(scale);
HWY_EXPORT(distance_sum);
HWY_EXPORT(expected_sums);
HWY_EXPORT(farthest);
HWY_EXPORT(search);

ScaledSums scale_weights(std::span<const float> weight, std::span<const float> norm,
                         std::span<float> scaled) {
  assert(norm.size() >= weight.size() && scaled.size() >= weight.size());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(scale)(weight.data(), norm.data(), weight.size(), scaled.data());
}

double sum_distances(std::span<const float> weight, std::span<const std::int32_t> rank,
                     std::span<const float> product, int size, float set_square) {
  assert(weight.size() % kPrefixColumns == 0 && rank.size() == weight.size());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(distance_sum)(weight.data(), rank.data(), product.data(),
                                            weight.size(), size, set_square);
}

ExpectedSums sum_expected(std::span<const float> weight, std::span<const float> projection,
                          std::span<const float> norm, const ExpectedCoefficients& coefficients) {
  assert(weight.size() % kPrefixColumns == 0 && norm.size() >= weight.size());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(expected_sums)(weight.data(), projection.data(), norm.data(),
                                             weight.size(), coefficients);
}

float farthest_outside(const float* gram, const float* norm, const std::int32_t* rank, int size,
                       float scale) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(farthest)(gram, norm, rank, size, scale);
}

float search_farthest(const float* gram, Index panel_floats, const float* norm,
                      const std::int32_t* rank, std::span<const float> promise, int size,
                      float scale, float best) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(search)(gram, panel_floats, norm, rank, promise.data(),
                                      std::ssize(promise), size, scale, best);
}

}  // namespace headgauge
#endif
