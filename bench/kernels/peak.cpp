#include "kernels/peak.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "headgauge/base.hpp"
#include "kernels/simd.hpp"
#include "kernels/softmax.hpp"
#include "kernels/targets.hpp"

#ifndef HEADGAUGE_PEAK_DEPTH
#define HEADGAUGE_PEAK_DEPTH
namespace headgauge {
constexpr std::size_t kDepth = 64;
}  // namespace headgauge
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// `rounds` times kDepth steps of 12 independent multiply-adds, enough to hide their latency, with
// operands from the L1 cache as in a matrix product (4 rows x 3 vectors). Returns the number of
// operations.
double multiply_add(std::size_t rounds, const float* a, const float* b, float* sink) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  V sum[4][3];
#pragma GCC unroll 4
  for (auto& row : sum) row[0] = row[1] = row[2] = hn::Zero(d);
  for (std::size_t i = 0; i < rounds; ++i) {
    for (std::size_t k = 0; k < kDepth; ++k) {
      const float* from = b + k * 3 * lanes;
      const V b0 = hn::Load(d, from), b1 = hn::Load(d, from + lanes);
      const V b2 = hn::Load(d, from + 2 * lanes);
#pragma GCC unroll 4
      for (std::size_t r = 0; r < 4; ++r) {
        const V x = hn::Set(d, a[r * kDepth + k]);
        sum[r][0] = hn::MulAdd(x, b0, sum[r][0]);
        sum[r][1] = hn::MulAdd(x, b1, sum[r][1]);
        sum[r][2] = hn::MulAdd(x, b2, sum[r][2]);
      }
    }
  }
  V total = hn::Zero(d);
#pragma GCC unroll 4
  for (const auto& row : sum) total = hn::Add(total, hn::Add(hn::Add(row[0], row[1]), row[2]));
  hn::StoreU(total, d, sink);  // keeps the compiler from dropping it all
  return 2.0 * 12.0 * static_cast<double>(lanes * kDepth * rounds);
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {
namespace {

// Work per second of work(), the best of many short runs: interruptions only ever slow it down.
template <class Work>
double best_rate(const Work& work) {
  using Clock = std::chrono::steady_clock;
  double best = 0.0;
  for (int i = 0; i < 1000; ++i) {
    const auto start = Clock::now();
    const double done = work();
    const std::chrono::duration<double> time = Clock::now() - start;
    best = std::max(best, done / time.count());
  }
  return best;
}

}  // namespace

HWY_EXPORT(multiply_add);

double fma_peak() {
  ensure_simd_level();
  const AlignedVector<float> a(4 * kDepth, 0.5f), b(3 * kDepth * 16, 0.25f);
  std::vector<float> sink(16);
  return best_rate(
      [&] { return HWY_DYNAMIC_DISPATCH(multiply_add)(300, a.data(), b.data(), sink.data()); });
}

double exp_rate() {
  std::vector<float> in(1024), out(1024);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = -static_cast<float>(i) / 100.0f;
  return best_rate([&] {
    for (int i = 0; i < 200; ++i) exp_shifted(in, 0.0f, out);
    return 200.0 * 1024.0;
  });
}

}  // namespace headgauge
#endif
