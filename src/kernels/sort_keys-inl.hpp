// Compiled per target: sorts a fixed number of 32-bit keys in registers with a bitonic network.
// Include after hwy/highway.h, inside foreach_target.
//
// The keys are in R registers of L lanes. The sorted sequence runs down the registers of lane 0,
// then of lane 1 and so on, so that most stages are minima and maxima between registers. First
// every lane is sorted on its own; then neighbouring groups of lanes are merged, L/2 + ... + 1.

// NOLINTBEGIN(llvm-header-guard)
#if defined(HEADGAUGE_SORT_KEYS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADGAUGE_SORT_KEYS_TOGGLE
#undef HEADGAUGE_SORT_KEYS_TOGGLE
#else
#define HEADGAUGE_SORT_KEYS_TOGGLE
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

#if HEADGAUGE_AVX

using KeyTag = hwy::HWY_NAMESPACE::ScalableTag<std::uint32_t>;
using Keys = hwy::HWY_NAMESPACE::Vec<KeyTag>;

// Returns lane l of `upper` if bit kDistance of l is set, else of `lower`.
template <int kDistance>
HWY_INLINE Keys blend_lanes(Keys upper, Keys lower) {
  namespace hn = hwy::HWY_NAMESPACE;
  const KeyTag d;
  if constexpr (kDistance == 1) {
    return hn::OddEven(upper, lower);
  } else if constexpr (kDistance == 2) {
    const hn::Repartition<std::uint64_t, KeyTag> pairs;
    return hn::BitCast(d, hn::OddEven(hn::BitCast(pairs, upper), hn::BitCast(pairs, lower)));
  } else if constexpr (kDistance == 4) {
    return hn::OddEvenBlocks(upper, lower);
  } else {
    return hn::ConcatUpperLower(d, upper, lower);
  }
}

// Moves lane l ^ kDistance to lane l.
template <int kDistance>
HWY_INLINE Keys swap_lanes(Keys v) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kDistance == 1) return hn::Shuffle2301(v);
  if constexpr (kDistance == 2) return hn::Shuffle1032(v);
  if constexpr (kDistance == 4) return hn::SwapAdjacentBlocks(v);
}

// Reverses every group of kWidth lanes.
template <int kWidth>
HWY_INLINE Keys reverse_lanes(Keys v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const KeyTag d;
  if constexpr (kWidth == 2) return hn::Reverse2(d, v);
  if constexpr (kWidth == 4) return hn::Reverse4(d, v);
  if constexpr (kWidth == 8) return hn::Reverse8(d, v);
  if constexpr (kWidth == 16) return hn::Reverse(d, v);
}

// Puts the larger keys into `first`.
HWY_INLINE void larger_first(Keys& first, Keys& second) {
  namespace hn = hwy::HWY_NAMESPACE;
  const Keys larger = hn::Max(first, second);
  second = hn::Min(first, second);
  first = larger;
}

// Half-cleaners between the registers of [0, R): sorts lanes that are bitonic down the registers.
template <int R>
HWY_INLINE void clean_registers(Keys* HWY_RESTRICT v) {
#pragma GCC unroll 8
  for (int distance = R / 2; distance >= 1; distance /= 2) {
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      if ((r & distance) == 0) larger_first(v[r], v[r + distance]);
    }
  }
}

// Sorts each lane down the registers.
template <int R>
HWY_INLINE void sort_lanes(Keys* HWY_RESTRICT v) {
  if constexpr (R > 1) {
    sort_lanes<R / 2>(v);
    sort_lanes<R / 2>(v + R / 2);
#pragma GCC unroll 32
    for (int r = 0; r < R / 2; ++r) larger_first(v[r], v[R - 1 - r]);
    clean_registers<R / 2>(v);
    clean_registers<R / 2>(v + R / 2);
  }
}

template <int R, int kDistance>
HWY_INLINE void clean_lanes(Keys* HWY_RESTRICT v) {
  namespace hn = hwy::HWY_NAMESPACE;
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r) {
    const Keys other = swap_lanes<kDistance>(v[r]);
    v[r] = blend_lanes<kDistance>(hn::Min(v[r], other), hn::Max(v[r], other));
  }
  if constexpr (kDistance > 1) clean_lanes<R, kDistance / 2>(v);
}

// Merges groups of kWidth / 2 lanes, each a sorted sequence, into groups of kWidth.
template <int R, int kWidth>
HWY_INLINE void merge_lanes(Keys* HWY_RESTRICT v) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kWidth > 2) merge_lanes<R, kWidth / 2>(v);
    // Compares the first sequence with the second one backwards: lanes and registers reversed.
#pragma GCC unroll 32
  for (int r = 0; r < R / 2; ++r) {
    const Keys x = v[r];
    const Keys y = reverse_lanes<kWidth>(v[R - 1 - r]);
    const Keys larger = hn::Max(x, y), smaller = hn::Min(x, y);
    v[r] = blend_lanes<kWidth / 2>(smaller, larger);
    v[R - 1 - r] = reverse_lanes<kWidth>(blend_lanes<kWidth / 2>(larger, smaller));
  }
  if constexpr (kWidth > 2) clean_lanes<R, kWidth / 4>(v);
  clean_registers<R>(v);
}

// Sorts kCount keys, largest first: key i of the sorted sequence is at sorted_place<kCount>(i).
template <std::size_t kCount>
HWY_NOINLINE void sort_keys(std::uint32_t* HWY_RESTRICT keys) {
  namespace hn = hwy::HWY_NAMESPACE;
  const KeyTag d;
  constexpr int kLanes = HWY_LANES(std::uint32_t);
  constexpr int kRegisters = static_cast<int>(kCount) / kLanes;
  Keys v[kRegisters];
#pragma GCC unroll 32
  for (int r = 0; r < kRegisters; ++r) v[r] = hn::Load(d, keys + r * kLanes);
  sort_lanes<kRegisters>(v);
  merge_lanes<kRegisters, kLanes>(v);
#pragma GCC unroll 32
  for (int r = 0; r < kRegisters; ++r) hn::Store(v[r], d, keys + r * kLanes);
}

template <std::size_t kCount>
HWY_INLINE std::size_t sorted_place(std::size_t i) {
  constexpr std::size_t kLanes = HWY_LANES(std::uint32_t);
  constexpr std::size_t kRegisters = kCount / kLanes;
  return i % kRegisters * kLanes + i / kRegisters;
}

#endif

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
// NOLINTEND(llvm-header-guard)
