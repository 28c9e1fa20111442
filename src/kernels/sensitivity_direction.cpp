#include "kernels/sensitivity_direction.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/random.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sensitivity_direction.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using DD = hn::ScalableTag<double>;
using VD = hn::Vec<DD>;
using DU64 = hn::RebindToUnsigned<DD>;
using VU64 = hn::Vec<DU64>;

// Multiplies the low 32 bits of each lane.
HWY_INLINE VU64 product(VU64 x, VU64 y) {
  const hn::Repartition<std::uint32_t, DD> d32;
  return hn::MulEven(hn::BitCast(d32, x), hn::BitCast(d32, y));
}

// Converts 53 bits of two words to a number in [0, 1).
HWY_INLINE VD unit(VU64 low, VU64 high) {
  const DU64 du;
  const hn::RebindToSigned<DD> di;
  const VU64 bits = hn::Or(hn::ShiftLeft<32>(high), hn::And(low, hn::Set(du, 0xFFFFFFFFu)));
  return hn::Mul(hn::ConvertTo(DD(), hn::BitCast(di, hn::ShiftRight<11>(bits))),
                 hn::Set(DD(), 0x1p-53));
}

// Computes the numbers of RandomStream::normals(), one block per lane; `z` has room for whole
// vectors of pairs.
void fill_normals(std::uint64_t seed, std::uint32_t a, std::uint32_t b, double* z, std::size_t n) {
  const DD d;
  const DU64 du;
  const std::size_t lanes = hn::Lanes(d);
  const VU64 m0 = hn::Set(du, 0xD2511F53u), m1 = hn::Set(du, 0xCD9E8D57u);
  const auto domain = static_cast<std::uint32_t>(RandomDomain::sensitivity_direction);
  HWY_ALIGN double tail[2 * HWY_MAX_BYTES / sizeof(double)];
  for (std::size_t block = 0; 2 * block < n; block += lanes) {
    VU64 c0 = hn::Add(hn::Iota(du, 0), hn::Set(du, block));
    VU64 c1 = hn::Set(du, a), c2 = hn::Set(du, b), c3 = hn::Set(du, domain);
    auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round) {
      // The upper halves of c1 and c3 hold leftovers, which no product reads.
      const VU64 p0 = product(c0, m0), p1 = product(c2, m1);
      c0 = hn::Xor(hn::ShiftRight<32>(p1), hn::Xor(c1, hn::Set(du, k0)));
      c1 = p1;
      c2 = hn::Xor(hn::ShiftRight<32>(p0), hn::Xor(c3, hn::Set(du, k1)));
      c3 = p0;
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    // 1 - u is exact, so log(1 - u) equals log1p(-u).
    const VD rest = hn::Sub(hn::Set(d, 1.0), unit(c0, c1));
    const VD radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0), hn::Log(d, rest)));
    const VD angle = hn::Mul(hn::Set(d, 2.0 * std::numbers::pi), unit(c2, c3));
    const VD x = hn::Mul(radius, hn::Cos(d, angle)), y = hn::Mul(radius, hn::Sin(d, angle));
    if (2 * (block + lanes) <= n) {
      hn::StoreInterleaved2(x, y, d, z + 2 * block);
    } else {
      hn::StoreInterleaved2(x, y, d, tail);
      std::copy(tail, tail + (n - 2 * block), z + 2 * block);
    }
  }
}

double sum_of_squares(const double* z, std::size_t n) {
  const DD d;
  const std::size_t lanes = hn::Lanes(d);
  VD sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const VD x = hn::LoadU(d, z + i);
    sum = hn::MulAdd(x, x, sum);
  }
  double total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) total += z[i] * z[i];
  return total;
}

void make_direction(std::uint64_t seed, std::uint32_t a, std::uint32_t b, double* z,
                    std::size_t n) {
  fill_normals(seed, a, b, z, n);
  const double scale = 1 / std::sqrt(sum_of_squares(z, n));
  for (std::size_t i = 0; i < n; ++i) z[i] *= scale;
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(make_direction);

void random_direction(std::uint64_t seed, std::uint32_t a, std::uint32_t b, std::span<double> v) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(make_direction)(seed, a, b, v.data(), v.size());
}

void top2_direction(std::span<const float> logits, std::span<double> v) {
  assert(logits.size() >= 2 && logits.size() == v.size());
  std::size_t first = 0, second = 1;
  if (logits[1] > logits[0]) std::swap(first, second);
  for (std::size_t i = 2; i < logits.size(); ++i) {
    if (logits[i] > logits[first]) {
      second = first;
      first = i;
    } else if (logits[i] > logits[second]) {
      second = i;
    }
  }
  std::ranges::fill(v, 0.0);
  v[first] = 0.5 * std::numbers::sqrt2;
  v[second] = -v[first];
}

}  // namespace headgauge
#endif
