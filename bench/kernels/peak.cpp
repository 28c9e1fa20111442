#include "kernels/peak.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "kernels/simd.hpp"
#include "kernels/softmax.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/peak.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// `rounds` times 12 independent multiply-adds, enough to hide their latency; returns the number of
// operations. `sink` keeps the compiler from dropping them.
double multiply_add(std::size_t rounds, float* sink) {
  const hn::ScalableTag<float> d;
  using V = hn::Vec<decltype(d)>;
  const V x = hn::Set(d, sink[0]), y = hn::Set(d, sink[1]);
  // All different, or the compiler would compute equal ones once.
  const auto start = [&](float value) HWY_ATTR { return hn::Set(d, value * sink[0]); };
  V s0 = start(1), s1 = start(2), s2 = start(3), s3 = start(4), s4 = start(5), s5 = start(6),
    s6 = start(7), s7 = start(8), s8 = start(9), s9 = start(10), s10 = start(11), s11 = start(12);
  for (std::size_t i = 0; i < rounds; ++i) {
    s0 = hn::MulAdd(s0, y, x);
    s1 = hn::MulAdd(s1, y, x);
    s2 = hn::MulAdd(s2, y, x);
    s3 = hn::MulAdd(s3, y, x);
    s4 = hn::MulAdd(s4, y, x);
    s5 = hn::MulAdd(s5, y, x);
    s6 = hn::MulAdd(s6, y, x);
    s7 = hn::MulAdd(s7, y, x);
    s8 = hn::MulAdd(s8, y, x);
    s9 = hn::MulAdd(s9, y, x);
    s10 = hn::MulAdd(s10, y, x);
    s11 = hn::MulAdd(s11, y, x);
  }
  const V sum = hn::Add(
      hn::Add(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), hn::Add(hn::Add(s4, s5), hn::Add(s6, s7))),
      hn::Add(hn::Add(s8, s9), hn::Add(s10, s11)));
  sink[2] = hn::GetLane(sum);
  return 12.0 * 2.0 * static_cast<double>(hn::Lanes(d)) * static_cast<double>(rounds);
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
  std::vector<float> sink = {0.5f, 0.25f, 0.0f};
  return best_rate([&] { return HWY_DYNAMIC_DISPATCH(multiply_add)(20'000, sink.data()); });
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
