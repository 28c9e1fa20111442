#include "kernels/top.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>
#include <limits>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/top.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/sort_keys-inl.hpp"
#include "kernels/threshold-inl.hpp"

// The row is not sorted. The search finds a threshold that leaves at least `count` and only a few
// more candidates: it starts from a guess and narrows it down by counting, which only reads the
// row. The candidates are collected and sorted.

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

#if HEADGAUGE_AVX

// The most values that select_few() accepts, and the most that it sorts.
constexpr std::size_t kMaxCount = 224;
constexpr std::size_t kMaxCandidates = 256;

std::size_t count_at_least(const float* HWY_RESTRICT values, std::size_t n, float threshold) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V bound = hn::Set(d, threshold);
  std::size_t i = 0;
#if HWY_TARGET == HWY_AVX3
  std::size_t count = 0;
  for (; i + lanes <= n; i += lanes) {
    count += hn::CountTrue(d, hn::Ge(hn::LoadU(d, values + i), bound));
  }
#else
  // Masks are -1 in every set lane.
  const DI di;
  auto sum = hn::Zero(di), sum2 = sum;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const auto mask = hn::Ge(hn::LoadU(d, values + i), bound);
    const auto mask2 = hn::Ge(hn::LoadU(d, values + i + lanes), bound);
    sum = hn::Sub(sum, hn::BitCast(di, hn::VecFromMask(d, mask)));
    sum2 = hn::Sub(sum2, hn::BitCast(di, hn::VecFromMask(d, mask2)));
  }
  auto count = static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(di, hn::Add(sum, sum2))));
  for (; i + lanes <= n; i += lanes) {
    count += hn::CountTrue(d, hn::Ge(hn::LoadU(d, values + i), bound));
  }
#endif
  if (i < n) {
    const auto inside = hn::FirstN(d, n - i);
    const V rest = hn::MaskedLoad(inside, d, values + i);
    count += hn::CountTrue(d, hn::And(inside, hn::Ge(rest, bound)));
  }
  return count;
}

// Writes the positions of the values >= threshold (or == threshold), ascending, at most `most`. It
// stores whole vectors, so `out` needs room for `most` and two more vectors.
template <bool kEqual>
std::size_t collect(const float* HWY_RESTRICT values, std::size_t n, float threshold,
                    std::uint32_t* HWY_RESTRICT out, std::size_t most) {
  const D d;
  const DU du;
  const std::size_t lanes = hn::Lanes(d);
  const V bound = hn::Set(d, threshold);
  auto index = hn::Iota(du, 0);
  const auto step = hn::Set(du, static_cast<std::uint32_t>(lanes));
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + lanes <= n && count < most; i += lanes) {
    const V v = hn::LoadU(d, values + i);
    const auto mask = kEqual ? hn::Eq(v, bound) : hn::Ge(v, bound);
    count += store_where(mask, index, out + count);
    index = hn::Add(index, step);
  }
  if (i < n && count < most) {
    const auto inside = hn::FirstN(d, n - i);
    const V v = hn::MaskedLoad(inside, d, values + i);
    const auto mask = hn::And(inside, kEqual ? hn::Eq(v, bound) : hn::Ge(v, bound));
    count += store_where(mask, index, out + count);
  }
  return std::min(count, most);
}

struct Threshold {
  float value = 0;  // count values are >= value
  std::size_t count = 0;
  float tie = 0;  // if count < wanted, all missing values equal this
};

// Finds wanted <= count <= most, or count < wanted with all missing values equal to `tie`.
Threshold find_threshold(const float* values, std::size_t n, std::size_t wanted, std::size_t most) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float size = static_cast<float>(n);
  const float target = 0.5f * static_cast<float>(wanted + most);
  // More than `most` values are >= low, fewer than `wanted` are >= high.
  std::int64_t low = ordered(-kInfinity), high = std::int64_t{ordered(kInfinity)} + 1;
  std::size_t low_count = n, high_count = 0;
  bool low_known = false, high_known = false;

  const Spread spread = sample_spread(values, n);
  const float aim = deviations_above(target, size);
  std::int64_t next = spread.centre + static_cast<std::int64_t>(aim * spread.deviation);
  for (int round = 0; high - low > 1; ++round) {
    next = std::clamp(next, low + 1, high - 1);
    const float threshold = from_ordered(static_cast<std::int32_t>(next));
    const std::size_t count = count_at_least(values, n, threshold);
    if (count >= wanted && count <= most) return {threshold, count, threshold};
    if (count > most) {
      low = next;
      low_count = count;
      low_known = true;
    } else {
      high = next;
      high_count = count;
      high_known = true;
    }
    if (round >= 8) {
      next = low + (high - low) / 2;
    } else if (low_known && high_known) {
      // The count falls about exponentially in between.
      const float from = rough_log2(static_cast<float>(low_count));
      const float to = rough_log2(std::max(static_cast<float>(high_count), 0.5f));
      const float part = std::clamp((from - rough_log2(target)) / (from - to), 0.05f, 0.95f);
      next = low + static_cast<std::int64_t>(part * static_cast<float>(high - low));
    } else {
      const float missing = aim - deviations_above(static_cast<float>(count), size);
      // Longer strides each time, at least one float further.
      const float reach = missing * spread.deviation * static_cast<float>(1 << round);
      next += static_cast<std::int64_t>(reach) + (missing > 0.0f ? 1 : -1);
    }
  }
  return {from_ordered(static_cast<std::int32_t>(high)), high_count,
          from_ordered(static_cast<std::int32_t>(low))};
}

// Writes the positions of the k largest of the c candidates at `index` (ascending; padded to whole
// vectors with valid positions), largest first. A 32-bit key has the distance from the smallest
// candidate in its high bits, as many as fit, and the candidate's slot in the low ones, so that
// equal values sort by position. If bits were cut off, an insertion sort corrects neighbours.
template <std::size_t kCount>
void sort_candidates(const float* HWY_RESTRICT values, const std::uint32_t* HWY_RESTRICT index,
                     std::size_t c, std::size_t k, std::uint32_t* HWY_RESTRICT out) {
  constexpr int kSlotBits = std::countr_zero(kCount);
  const D d;
  const DU du;
  const DI di;
  constexpr std::size_t kLanes = HWY_LANES(float);
  HWY_ALIGN std::uint32_t exact[kCount];
  HWY_ALIGN std::uint32_t keys[kCount];
  auto least = hn::Set(du, 0xffffffffu);
  auto most = hn::Zero(du);
  for (std::size_t i = 0; i < c; i += kLanes) {
    const auto at = hn::BitCast(di, hn::LoadU(du, index + i));
    const auto bits = hn::BitCast(du, ordered(hn::GatherIndex(d, values, at)));
    const auto order = hn::Xor(bits, hn::Set(du, 0x80000000u));
    least = hn::Min(least, order);
    most = hn::Max(most, order);
    hn::Store(order, du, exact + i);
  }
  const std::uint32_t low = hn::GetLane(hn::MinOfLanes(du, least));
  const std::uint32_t range = hn::GetLane(hn::MaxOfLanes(du, most)) - low;
  const int cut = std::max(0, static_cast<int>(std::bit_width(range)) - (32 - kSlotBits));
  auto slot = hn::Sub(hn::Set(du, static_cast<std::uint32_t>(kCount - 1)), hn::Iota(du, 0));
  for (std::size_t i = 0; i < kCount; i += kLanes) {
    auto key = hn::Zero(du);
    if (i < c) {
      const auto distance = hn::Sub(hn::Load(du, exact + i), hn::Set(du, low));
      key = hn::Or(hn::ShiftLeft<kSlotBits>(hn::ShiftRightSame(distance, cut)), slot);
      if (i + kLanes > c) key = hn::IfThenElseZero(hn::FirstN(du, c - i), key);
    }
    hn::Store(key, du, keys + i);
    slot = hn::Sub(slot, hn::Set(du, static_cast<std::uint32_t>(kLanes)));
  }
  sort_keys<kCount>(keys);

  constexpr std::uint32_t kMask = kCount - 1;
  if (cut == 0) {
    for (std::size_t i = 0; i < k; ++i) {
      out[i] = index[kMask - (keys[sorted_place<kCount>(i)] & kMask)];
    }
    return;
  }
  std::uint32_t slots[kCount];
  for (std::size_t i = 0; i < c; ++i) {
    const std::uint32_t now = kMask - (keys[sorted_place<kCount>(i)] & kMask);
    std::size_t j = i;
    for (; j > 0 && exact[slots[j - 1]] < exact[now]; --j) slots[j] = slots[j - 1];
    slots[j] = now;
  }
  for (std::size_t i = 0; i < k; ++i) out[i] = index[slots[i]];
}

void sort_candidates_of(const float* values, std::uint32_t* index, std::size_t c, std::size_t k,
                        std::uint32_t* out) {
  if (c == 0) return;
  // Gathers read whole vectors of positions.
  for (std::size_t i = c; i % HWY_LANES(float) != 0; ++i) index[i] = index[0];
  if (c <= 32) return sort_candidates<32>(values, index, c, k, out);
  if (c <= 64) return sort_candidates<64>(values, index, c, k, out);
  if (c <= 128) return sort_candidates<128>(values, index, c, k, out);
  return sort_candidates<256>(values, index, c, k, out);
}

// Selects k <= kMaxCount positions; k <= n.
bool select_few(const float* values, std::size_t n, std::size_t k, std::uint32_t* out) {
  if (k > kMaxCount) return false;
  HWY_ALIGN std::uint32_t index[kMaxCandidates + 2 * HWY_LANES(float)];
  const std::size_t most = k <= 24 ? 32 : k <= 52 ? 64 : k <= 112 ? 128 : 256;
  if (n <= most) {
    for (std::size_t i = 0; i < n; ++i) index[i] = static_cast<std::uint32_t>(i);
    sort_candidates_of(values, index, n, k, out);
    return true;
  }
  const Threshold threshold = find_threshold(values, n, k, most);
  const std::size_t c = collect<false>(values, n, threshold.value, index, threshold.count);
  const std::size_t sorted = std::min(c, k);
  sort_candidates_of(values, index, c, sorted, out);
  if (sorted < k) {
    const std::size_t ties = collect<true>(values, n, threshold.tie, index, k - sorted);
    std::copy_n(index, ties, out + sorted);
    // Reached only with NaN: returns positions that at least exist.
    std::fill(out + sorted + ties, out + k, 0u);
  }
  return true;
}

#else

bool select_few(const float*, std::size_t, std::size_t, std::uint32_t*) {
  return false;
}

#endif

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {
namespace {

// Makes a 64-bit key that sorts by value, then by lower position.
std::uint64_t descending_key(float value, std::uint32_t position) {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0f);
  const std::uint32_t order = bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
  return std::uint64_t{order} << 32 | ~position;
}

}  // namespace

HWY_EXPORT(select_few);

Index select_top(std::span<const float> values, Index count, std::span<std::uint32_t> out_index,
                 TopWorkspace& workspace) {
  assert(values.size() < std::numeric_limits<std::uint32_t>::max());
  const std::size_t n = values.size();
  const std::size_t k = std::min(static_cast<std::size_t>(std::max<Index>(count, 0)), n);
  assert(out_index.size() >= k);
  if (k == 0) return 0;
  ensure_simd_level();
  if (HWY_DYNAMIC_DISPATCH(select_few)(values.data(), n, k, out_index.data())) {
    return static_cast<Index>(k);
  }
  auto& keys = workspace.keys;
  keys.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = descending_key(values[i], static_cast<std::uint32_t>(i));
  }
  const auto last = keys.begin() + static_cast<std::ptrdiff_t>(k);
  if (last != keys.end()) std::nth_element(keys.begin(), last, keys.end(), std::greater<>());
  std::sort(keys.begin(), last, std::greater<>());
  for (std::size_t i = 0; i < k; ++i) out_index[i] = ~static_cast<std::uint32_t>(keys[i]);
  return static_cast<Index>(k);
}

}  // namespace headgauge
#endif
