// Compiled per target: code shared by the searches for a threshold in a row (the top values, the
// keys that hold a share of the mass). Include after hwy/highway.h, inside foreach_target.
//
// Thresholds move in the order of the floats' bits, which is nearly logarithmic for positive
// numbers like weights. It has at most 2^32 steps, so that bisection ends whatever the row holds.
// The first guess assumes that a sample of the row is normal in that order.

// NOLINTBEGIN(llvm-header-guard)
#if defined(HEADGAUGE_THRESHOLD_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADGAUGE_THRESHOLD_TOGGLE
#undef HEADGAUGE_THRESHOLD_TOGGLE
#else
#define HEADGAUGE_THRESHOLD_TOGGLE
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

#if HEADGAUGE_AVX

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using DU = hn::ScalableTag<std::uint32_t>;
using DI = hn::ScalableTag<std::int32_t>;
using V = hn::Vec<D>;

// Returns integers in the order of the floats; -0 and 0 are equal.
HWY_INLINE std::int32_t ordered(float value) {
  const auto bits = std::bit_cast<std::int32_t>(value + 0.0f);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

HWY_INLINE float from_ordered(std::int32_t order) {
  return std::bit_cast<float>(order ^ ((order >> 31) & 0x7fffffff));
}

HWY_INLINE hn::Vec<DI> ordered(V value) {
  const D d;
  const DI di;
  const auto bits = hn::BitCast(di, hn::Add(value, hn::Zero(d)));
  return hn::Xor(bits, hn::And(hn::ShiftRight<31>(bits), hn::Set(di, 0x7fffffff)));
}

#if HWY_TARGET == HWY_AVX2
// Lists for every mask of 8 lanes the lanes that are set, 4 bits each. (With GCC, Highway's own
// Compress copies its table to the stack at every call, which made this loop ten times slower.)
struct CompressTable {
  constexpr CompressTable() {
    for (std::uint32_t mask = 0; mask < 256; ++mask) {
      int places = 0;
      for (std::uint32_t lane = 0; lane < 8; ++lane) {
        if ((mask >> lane & 1) != 0) lanes[mask] |= lane << (4 * places++);
      }
    }
  }
  std::uint32_t lanes[256] = {};
};
inline constexpr CompressTable kCompress;
#endif

// Stores the lanes of `index` where `mask` is set, contiguously (with junk after them); returns
// their number.
HWY_INLINE std::size_t store_where(hn::Mask<D> mask, hn::Vec<DU> index, std::uint32_t* out) {
  const D d;
  const DU du;
#if HWY_TARGET == HWY_AVX2
  const auto bits = static_cast<unsigned>(_mm256_movemask_ps(hn::VecFromMask(d, mask).raw));
  const auto fours = hn::ShiftLeft<2>(hn::Iota(du, 0));
  const auto lanes = hn::And(hn::Shr(hn::Set(du, kCompress.lanes[bits]), fours), hn::Set(du, 7));
  hn::StoreU(hn::TableLookupLanes(index, hn::IndicesFromVec(du, lanes)), du, out);
  return static_cast<std::size_t>(std::popcount(bits));
#else
  hn::StoreU(hn::Compress(index, hn::RebindMask(du, mask)), du, out);
  return hn::CountTrue(d, mask);
#endif
}

// Computes log2 to within 0.09, enough for a guess.
HWY_INLINE float rough_log2(float x) {
  return static_cast<float>(std::bit_cast<std::int32_t>(x) - 0x3f800000) * 0x1p-23f;
}

// Computes log((n - count) / count) / 1.702: about how many standard deviations above the mean
// `count` of n normal numbers exceed.
HWY_INLINE float deviations_above(float count, float n) {
  count = std::clamp(count, 0.5f, n - 0.5f);
  return (rough_log2(n - count) - rough_log2(count)) * 0.4073f;
}

struct Spread {
  std::int32_t centre = 0;  // mean of ordered()
  float deviation = 0;
};

// Uses about every eighth vector.
inline Spread sample_spread(const float* values, std::size_t n) {
  const D d;
  const DI di;
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t stride = std::max(lanes, n / 8 / lanes * lanes);
  const std::int32_t pivot = ordered(values[0]);
  const auto origin = hn::Set(di, pivot);
  V sum = hn::Zero(d), square = hn::Zero(d);
  float terms = 0.0f;
  for (std::size_t i = 0; i + lanes <= n; i += stride) {
    const V x = hn::ConvertTo(d, hn::Sub(ordered(hn::LoadU(d, values + i)), origin));
    sum = hn::Add(sum, x);
    square = hn::MulAdd(x, x, square);
    terms += static_cast<float>(lanes);
  }
  const float mean = hn::GetLane(hn::SumOfLanes(d, sum)) / terms;
  const float variance = hn::GetLane(hn::SumOfLanes(d, square)) / terms - mean * mean;
  // A wrong centre (differences may overflow) only costs time.
  const auto centre = static_cast<std::int64_t>(pivot) + static_cast<std::int64_t>(mean);
  Spread out;
  out.centre = static_cast<std::int32_t>(std::clamp<std::int64_t>(centre, -0x7f000000, 0x7f000000));
  out.deviation = std::sqrt(std::max(variance, 0.0f));
  return out;
}

#endif

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
// NOLINTEND(llvm-header-guard)
