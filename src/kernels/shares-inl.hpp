// Compiled per target: the passes over a row that normalizers share: its extremes, the sums of its
// shares, scaling by a factor. Include after hwy/highway.h, inside foreach_target.

// NOLINTBEGIN(llvm-header-guard)
#if defined(HEADGAUGE_SHARES_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADGAUGE_SHARES_TOGGLE
#undef HEADGAUGE_SHARES_TOGGLE
#else
#define HEADGAUGE_SHARES_TOGGLE
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/exp-inl.hpp"
#include "kernels/shares.hpp"
#include "kernels/targets.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

// Keeps four of each, since each waits for its previous value.
template <bool kFinite>
struct RunningExtremes {
  HWY_INLINE explicit RunningExtremes(V any) {
    for (int v = 0; v < 4; ++v) {
      low[v] = high[v] = any;
      size[v] = hn::Zero(hn::RebindToUnsigned<D>());
    }
  }
  HWY_INLINE void add(int v, V x) {
    low[v] = hn::Min(low[v], x);
    high[v] = hn::Max(high[v], x);
    // A minimum may lose a NaN. As integers without the sign bit, NaN and infinity are the largest.
    if constexpr (kFinite) {
      const hn::RebindToUnsigned<D> du;
      size[v] = hn::Max(size[v], hn::ShiftLeft<1>(hn::BitCast(du, x)));
    }
  }
  HWY_INLINE void add_four(const float* in) {
    const D d;
    const std::size_t lanes = hn::Lanes(d);
    add(0, hn::LoadU(d, in));
    add(1, hn::LoadU(d, in + lanes));
    add(2, hn::LoadU(d, in + 2 * lanes));
    add(3, hn::LoadU(d, in + 3 * lanes));
  }
  V low[4], high[4];
  hn::Vec<hn::RebindToUnsigned<D>> size[4];
};

// If kFinite, sets `finite` to whether all values are finite.
template <bool kFinite>
HWY_INLINE Extremes find_extremes_of(const float* in, std::size_t n, bool& finite) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  RunningExtremes<kFinite> found(hn::Set(d, in[0]));
  if (n >= 4 * lanes) {
    for (std::size_t i = 0; i + 4 * lanes <= n; i += 4 * lanes) found.add_four(in + i);
    // The end of the row; part of it is read a second time.
    found.add_four(in + n - 4 * lanes);
  } else {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const auto at = static_cast<std::size_t>(v);
      found.add(v, load_first(in + at * lanes, lanes_left(n, at), in[0]));
    }
  }
  const auto& low = found.low;
  const auto& high = found.high;
  if constexpr (kFinite) {
    const hn::RebindToUnsigned<D> du;
    const auto& size = found.size;
    const auto most = hn::Max(hn::Max(size[0], size[1]), hn::Max(size[2], size[3]));
    finite = hn::GetLane(hn::MaxOfLanes(du, most)) < 0xff000000u;
  }
  const V lowest = hn::Min(hn::Min(low[0], low[1]), hn::Min(low[2], low[3]));
  const V highest = hn::Max(hn::Max(high[0], high[1]), hn::Max(high[2], high[3]));
  return {hn::GetLane(hn::MinOfLanes(d, lowest)), hn::GetLane(hn::MaxOfLanes(d, highest))};
}

HWY_INLINE Extremes find_extremes(const float* in, std::size_t n) {
  bool finite = true;
  return find_extremes_of<false>(in, n, finite);
}

using DD = hn::Repartition<double, D>;
using VD = hn::Vec<DD>;

// Sums in float64 lanes.
struct Totals {
  // Constructors are written out so that they are compiled for this target.
  HWY_INLINE Totals() { first = square = cube = shift = hn::Zero(DD()); }
  // Returns the sums over `vectors` whole vectors in `blocks` blocks; the last may be padded with
  // zeros.
  HWY_INLINE ShareSums sums(std::size_t vectors, std::size_t blocks) const {
    const DD dd;
    // kTiny was added once per lane and block; the difference is exact.
    const std::size_t lanes = hn::Lanes(D());
    const double tiny = static_cast<double>(kTiny) * static_cast<double>(blocks * lanes);
    ShareSums sums;
    sums.ones = static_cast<double>(vectors * lanes - others);
    sums.first = hn::GetLane(hn::SumOfLanes(dd, first));
    sums.square = hn::GetLane(hn::SumOfLanes(dd, square)) - tiny;
    sums.cube = hn::GetLane(hn::SumOfLanes(dd, cube)) - tiny;
    sums.shift = hn::GetLane(hn::SumOfLanes(dd, shift));
    return sums;
  }
  VD first, square, cube, shift;
  std::size_t others = 0;  // number of lanes with e < 1
};

HWY_INLINE VD add_halves(VD total, V v) {
  const DD dd;
  const hn::Half<D> dh;
  const VD low = hn::PromoteTo(dd, hn::LowerHalf(dh, v));
  return hn::Add(total, hn::Add(low, hn::PromoteTo(dd, hn::UpperHalf(dh, v))));
}

// Moves the float lanes of a block to float64.
template <class Sums>
HWY_INLINE void add_block(const Sums& block, Totals& totals) {
  totals.first = add_halves(totals.first, block.first);
  totals.square = add_halves(totals.square, block.square);
  totals.cube = add_halves(totals.cube, block.cube);
  totals.shift = add_halves(totals.shift, block.shift);
  totals.others += block.others;
}

constexpr double kLn2 = 0.693147180559945309417;

// Returns a factor that takes x > 0 to 1 or just above it, so that Min with 1 makes it a share of
// 1.
HWY_INLINE float unit_above(float x) {
  return 1.0f / x * (1.0f + 0x1p-23f);
}

// Rounds n up to whole vectors.
HWY_INLINE std::size_t up_to_vectors(std::size_t n) {
  const std::size_t lanes = hn::Lanes(D());
  return (n + lanes - 1) / lanes * lanes;
}

// Sums in float lanes, moved on after at most kBlock vectors: a lane then has added so few terms
// that its rounding error is about 2e-7, at worst 2e-6.
constexpr std::size_t kBlock = 32;

struct BlockSums {
  HWY_INLINE BlockSums() {
    first = shift = hn::Zero(D());
    square = cube = hn::Set(D(), kTiny);
  }

  // `x` is log e, in any base. With kAll, NaN in x shows in `shift`; without it, shift skips
  // entries with e = 1, whatever x is.
  template <bool kAll = true>
  HWY_INLINE void add(V x, V e) {
    const D d;
    const auto below = hn::Lt(e, hn::Set(d, 1.0f));
#if HWY_TARGET == HWY_AVX3
    const V squared = hn::MulAdd(e, e, hn::Set(d, kTiny));
    first = V{_mm512_mask_add_ps(first.raw, below.raw, first.raw, e.raw)};
    square = V{_mm512_mask3_fmadd_ps(e.raw, e.raw, square.raw, below.raw)};
    cube = V{_mm512_mask3_fmadd_ps(squared.raw, e.raw, cube.raw, below.raw)};
    shift = kAll ? hn::MulAdd(e, x, shift)
                 : V{_mm512_mask3_fmadd_ps(e.raw, x.raw, shift.raw, below.raw)};
#else
    const V rest = hn::IfThenElseZero(below, e);
    first = hn::Add(first, rest);
    square = hn::MulAdd(rest, rest, square);
    cube = hn::MulAdd(hn::MulAdd(rest, rest, hn::Set(d, kTiny)), rest, cube);
    shift = hn::MulAdd(kAll ? e : rest, x, shift);
#endif
    others += hn::CountTrue(d, below);
  }

  V first, square, cube, shift;
  std::size_t others = 0;  // number of lanes with e < 1
};

HWY_INLINE void scale_row(float* values, std::size_t n, float factor) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V by = hn::Set(d, factor);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    for (std::size_t v = 0; v < 4; ++v) {
      hn::StoreU(hn::Mul(hn::LoadU(d, values + i + v * lanes), by), d, values + i + v * lanes);
    }
  }
  const std::size_t left = n - i;
  for (std::size_t v = 0; v < 4; ++v) {
    const std::size_t some = lanes_left(left, v);
    float* at = values + i + v * lanes;
    store_first(hn::Mul(load_first(at, some, 0.0f), by), at, some);
  }
}

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
// NOLINTEND(llvm-header-guard)
