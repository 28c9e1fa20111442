#include "kernels/random_words.hpp"

#include <algorithm>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/random_words.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr Index kBlockWords = 4;

using DU = hn::ScalableTag<std::uint32_t>;
using VU = hn::Vec<DU>;

struct WideProduct {
  VU high, low;
};

// Computes the 64-bit products of every lane with a constant.
HWY_INLINE WideProduct multiply(VU x, VU constant) {
  const DU d;
  const hn::RepartitionToWide<DU> wide;
  const auto even = hn::MulEven(x, constant);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, x))), constant);
  return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
}

// Computes one block per lane, as RandomStream::block().
Index whole_vectors(const RandomStream& stream, std::uint32_t* words, Index n) {
  const DU d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const VU m0 = hn::Set(d, 0xD2511F53), m1 = hn::Set(d, 0xCD9E8D57);
  Index first = 0;
  for (; (first + lanes) * kBlockWords <= n; first += lanes) {
    const auto counter = stream.counter(0);
    VU c0 = hn::Iota(d, static_cast<std::uint32_t>(first));
    VU c1 = hn::Set(d, counter[1]), c2 = hn::Set(d, counter[2]), c3 = hn::Set(d, counter[3]);
    auto [k0, k1] = stream.key();
    for (int round = 0; round < 10; ++round) {
      const WideProduct p0 = multiply(c0, m0), p1 = multiply(c2, m1);
      c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(d, k1));
      c1 = p1.low;
      c3 = p0.low;
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, words + first * kBlockWords);
  }
  return first;
}

void fill_words(const RandomStream& stream, std::uint32_t* words, Index n) {
  for (Index block = whole_vectors(stream, words, n); block * kBlockWords < n; ++block) {
    const auto four = stream.block(static_cast<std::uint32_t>(block));
    const Index at = block * kBlockWords;
    std::copy_n(four.begin(), std::min(kBlockWords, n - at), words + at);
  }
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(fill_words);

void random_words(const RandomStream& stream, std::span<std::uint32_t> words) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(fill_words)(stream, words.data(), std::ssize(words));
}

}  // namespace headgauge
#endif
