#include <bit>
#include <cassert>
#include <cstdint>

#include "kernels/gemm.hpp"
#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/widen.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Converts one value by integer arithmetic: exact also for subnormals, infinities and NaN.
float widen_f16(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u) {  // infinity, NaN
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  }
  if (magnitude >= 0x400u) {  // normal: changes the exponent's bias from 15 to 127
    return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  }
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return sign == 0 ? value : -value;
}

float widen_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

void widen_row(const std::uint16_t* in, bool bf16, float* out, std::size_t n) {
  std::size_t i = 0;
  const hn::ScalableTag<float> d;
  const hn::Rebind<std::uint16_t, decltype(d)> du16;
  const hn::Rebind<std::uint32_t, decltype(d)> du32;
  const std::size_t lanes = hn::Lanes(d);
  if (bf16) {
    for (; i + lanes <= n; i += lanes) {
      const auto wide = hn::ShiftLeft<16>(hn::PromoteTo(du32, hn::LoadU(du16, in + i)));
      hn::StoreU(hn::BitCast(d, wide), d, out + i);
    }
  } else if (HWY_TARGET != HWY_SSSE3) {  // there Highway widens infinity to 65536
    const hn::Rebind<hwy::float16_t, decltype(d)> df16;
    for (; i + lanes <= n; i += lanes) {
      const auto half = hn::BitCast(df16, hn::LoadU(du16, in + i));
      hn::StoreU(hn::PromoteTo(d, half), d, out + i);
    }
  }
  for (; i < n; ++i) out[i] = bf16 ? widen_bf16(in[i]) : widen_f16(in[i]);
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(widen_row);

void widen(std::span<const std::uint16_t> in, HalfType type, std::span<float> out) {
  assert(in.size() == out.size());
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(widen_row)(in.data(), type == HalfType::bf16, out.data(), in.size());
}

}  // namespace headgauge
#endif
