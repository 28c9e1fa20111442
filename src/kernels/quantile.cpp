#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"
#include "kernels/top.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantile.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/sort_keys-inl.hpp"
#include "kernels/threshold-inl.hpp"

// The row is not sorted. The search finds two thresholds with few weights in between: the weights
// from the upper one on sum to less than the target, those from the lower one on to at least the
// target. The weights in between are sorted and added until the target is reached. The search adds
// in float32, which may be wrong near the target; the final sum is in float64 and detects a wrong
// bracket.

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

#if HEADGAUGE_AVX

using DD = hn::Repartition<double, D>;

constexpr std::size_t kMaxCandidates = 256;

// Returns how many of `left` values are in the next vector.
HWY_INLINE std::size_t next_lanes(std::size_t left) {
  return std::min(left, hn::Lanes(D()));
}

HWY_INLINE hn::Vec<DD> add_halves(hn::Vec<DD> sum, V v) {
  const DD dd;
  const hn::Half<D> dh;
  return hn::Add(sum, hn::Add(hn::PromoteTo(dd, hn::LowerHalf(dh, v)),
                              hn::PromoteTo(dd, hn::UpperHalf(dh, v))));
}

double total_mass(const float* HWY_RESTRICT weights, std::size_t n) {
  const D d;
  const DD dd;
  const std::size_t lanes = hn::Lanes(d);
  auto sum = hn::Zero(dd), sum2 = sum;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    sum = add_halves(sum, hn::LoadU(d, weights + i));
    sum2 = add_halves(sum2, hn::LoadU(d, weights + i + lanes));
  }
  for (; i < n; i += lanes) {
    sum = add_halves(sum, hn::MaskedLoad(hn::FirstN(d, next_lanes(n - i)), d, weights + i));
  }
  return hn::GetLane(hn::SumOfLanes(dd, hn::Add(sum, sum2)));
}

struct Above {
  double mass = 0;
  std::size_t count = 0;
};

// Sums the weights >= threshold, approximately: in float32.
Above above(const float* HWY_RESTRICT weights, std::size_t n, float threshold) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V bound = hn::Set(d, threshold);
  V sum = hn::Zero(d), sum2 = sum;
  std::size_t count = 0, i = 0;
  const auto add = [&](V& to, V w) HWY_ATTR {
    const auto mask = hn::Ge(w, bound);
    to = hn::Add(to, hn::IfThenElseZero(mask, w));
    count += hn::CountTrue(d, mask);
  };
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    add(sum, hn::LoadU(d, weights + i));
    add(sum2, hn::LoadU(d, weights + i + lanes));
  }
  for (; i < n; i += lanes) {
    const std::size_t some = next_lanes(n - i);
    const auto inside = hn::FirstN(d, some);
    const V w = hn::MaskedLoad(inside, d, weights + i);
    const auto mask = hn::And(inside, hn::Ge(w, bound));
    sum = hn::Add(sum, hn::IfThenElseZero(mask, w));
    count += hn::CountTrue(d, mask);
  }
  return {hn::GetLane(hn::SumOfLanes(d, hn::Add(sum, sum2))), count};
}

struct Split {
  double mass = 0;        // sum of the weights >= high, exact
  std::size_t count = 0;  // number of weights >= high
  std::size_t candidates = 0;
};

// Puts the bits of the weights in [low, high) into `out`, which needs room for kMaxCandidates and
// two vectors, and adds up those >= high. There are at most kMaxCandidates.
Split split(const float* HWY_RESTRICT weights, std::size_t n, float low, float high,
            std::uint32_t* HWY_RESTRICT out) {
  const D d;
  const DU du;
  const DD dd;
  const std::size_t lanes = hn::Lanes(d);
  const V from = hn::Set(d, low), to = hn::Set(d, high);
  auto sum = hn::Zero(dd);
  Split result;
  for (std::size_t i = 0; i < n; i += lanes) {
    // Lanes beyond the row are NaN and fall on neither side.
    V w;
    if (i + lanes <= n) {
      w = hn::LoadU(d, weights + i);
    } else {
      const auto inside = hn::FirstN(d, n - i);
      w = hn::IfThenElse(inside, hn::MaskedLoad(inside, d, weights + i), hn::NaN(d));
    }
    const auto upper = hn::Ge(w, to);
    sum = add_halves(sum, hn::IfThenElseZero(upper, w));
    result.count += hn::CountTrue(d, upper);
    const auto between = hn::And(hn::Ge(w, from), hn::Lt(w, to));
    // -0 becomes 0, so that bits and values have the same order.
    const auto bits = hn::BitCast(du, hn::Add(w, hn::Zero(d)));
    result.candidates += store_where(between, bits, out + result.candidates);
  }
  result.mass = hn::GetLane(hn::SumOfLanes(dd, sum));
  return result;
}

// Returns how many of the c candidates, largest first, bring `mass` to the target; c + 1 if all are
// too few. `bits` has room for kCount.
template <std::size_t kCount>
std::size_t needed(std::uint32_t* bits, std::size_t c, double mass, double target) {
  constexpr std::size_t kLanes = HWY_LANES(float);
  constexpr std::size_t kRegisters = kCount / kLanes;
  std::fill(bits + c, bits + kCount, 0u);
  sort_keys<kCount>(bits);
  // Lane l holds the sorted candidates from l * kRegisters on. The code first adds whole lanes,
  // then single candidates.
  double lane_sum[kLanes] = {};
  for (std::size_t r = 0; r < kRegisters; ++r) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      lane_sum[l] += static_cast<double>(std::bit_cast<float>(bits[r * kLanes + l]));
    }
  }
  std::size_t l = 0;
  while (l < kLanes && mass + lane_sum[l] < target) mass += lane_sum[l++];
  std::size_t k = l * kRegisters;
  while (k < c && mass < target) {
    mass += static_cast<double>(std::bit_cast<float>(bits[sorted_place<kCount>(k++)]));
  }
  return mass < target ? c + 1 : k;
}

// The bracket as ordered floats: the weights >= low reach the target, those >= high do not.
struct Bracket {
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::size_t between = 0;
};

Bracket find_bracket(const float* weights, std::size_t n, double total, double target) {
  Bracket bracket{0, ordered(std::numeric_limits<float>::infinity()), n};
  std::size_t low_count = n, high_count = 0;
  double low_mass = total, high_mass = 0.0;
  const Spread spread = sample_spread(weights, n);
  // If the logarithms of weights are normal with deviation s, the mass is also normal in them, with
  // a mean s^2 higher; one unit of the logarithm is 2^23 / log 2 ordered floats.
  const float unit = 0x1p23f / 0.6931472f;
  const auto quantile = [](double mass, double all) {
    const auto part = static_cast<float>(std::clamp(mass / all, 0.001, 0.999));
    return deviations_above(part, 1.0f);
  };
  const float aim = quantile(target, total);
  const float s = std::clamp(spread.deviation / unit, 1e-6f, 8.0f);
  // The first two guesses lie on either side of the expected threshold.
  constexpr float kMargin = 0.1f;
  std::int64_t next =
      spread.centre + static_cast<std::int64_t>((s * s + (aim - kMargin) * s) * unit);
  bool low_known = false, high_known = false;
  for (int round = 0; bracket.between > kMaxCandidates && bracket.high - bracket.low > 1; ++round) {
    next = std::clamp(next, bracket.low + 1, bracket.high - 1);
    const Above at = above(weights, n, from_ordered(static_cast<std::int32_t>(next)));
    if (at.mass < target) {
      bracket.high = next;
      high_count = at.count;
      high_mass = at.mass;
      high_known = true;
    } else {
      bracket.low = next;
      low_count = at.count;
      low_mass = at.mass;
      low_known = true;
    }
    bracket.between = low_count - high_count;
    const std::int64_t width = bracket.high - bracket.low;
    if (round >= 8) {
      next = bracket.low + width / 2;
    } else if (low_known && high_known) {
      // The mass falls nearly linearly in between. Aims beyond the target, to move the farther end.
      const double part = (low_mass - target) / std::max(low_mass - high_mass, 1e-30);
      const double past = part < 0.5 ? part + 0.1 : part - 0.1;
      next = bracket.low + static_cast<std::int64_t>(past * static_cast<double>(width));
    } else {
      const float missing = aim - quantile(at.mass, total);
      const float margin = at.mass < target ? -kMargin : kMargin;
      const float reach = (missing + margin) * s * unit * static_cast<float>(1 << round);
      next += static_cast<std::int64_t>(reach) + (at.mass < target ? -1 : 1);
    }
  }
  return bracket;
}

// Returns -1 if the search failed.
Index quantile_of(const float* weights, std::size_t n, double fraction, double slack) {
  const double total = total_mass(weights, n);
  if (!(total > 0.0)) return 0;
  const double target = fraction * total * (1.0 - slack);
  if (target <= 0.0) return 0;
  HWY_ALIGN std::uint32_t bits[kMaxCandidates + 2 * HWY_LANES(float)];
  Bracket bracket{0, ordered(std::numeric_limits<float>::infinity()), n};
  if (n > kMaxCandidates) bracket = find_bracket(weights, n, total, target);
  const float low = from_ordered(static_cast<std::int32_t>(bracket.low));
  const float high = from_ordered(static_cast<std::int32_t>(bracket.high));
  if (bracket.between > kMaxCandidates) {
    // Ties: all weights in between equal `low`.
    const Split rest = split(weights, n, high, high, bits);
    const double more = std::ceil((target - rest.mass) / low);
    if (!(more >= 1.0 && more <= static_cast<double>(bracket.between))) return -1;
    return static_cast<Index>(rest.count) + static_cast<Index>(more);
  }
  const Split rest = split(weights, n, low, high, bits);
  if (rest.mass >= target) return -1;
  const std::size_t c = rest.candidates;
  std::size_t k = 0;
  if (c <= 32) {
    k = needed<32>(bits, c, rest.mass, target);
  } else if (c <= 64) {
    k = needed<64>(bits, c, rest.mass, target);
  } else if (c <= 128) {
    k = needed<128>(bits, c, rest.mass, target);
  } else {
    k = needed<256>(bits, c, rest.mass, target);
  }
  return k > c ? -1 : static_cast<Index>(rest.count + k);
}

#else

Index quantile_of(const float*, std::size_t, double, double) {
  return -1;
}

#endif

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(quantile_of);

namespace {

// Float32 weights are accurate to this share of their sum, and smaller differences must not decide:
// otherwise a uniform row of ten keys would need the tenth for 90 % if 1/10 is rounded down.
constexpr double kSlack = 1e-6;

}  // namespace

Index mass_quantile(std::span<const float> weights, double fraction, TopWorkspace& workspace) {
  ensure_simd_level();
  const Index found =
      HWY_DYNAMIC_DISPATCH(quantile_of)(weights.data(), weights.size(), fraction, kSlack);
  if (found >= 0) return found;
  auto& sorted = workspace.values;
  sorted.assign(weights.begin(), weights.end());
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double total = 0.0;
  for (const float w : sorted) total += w;
  if (!(total > 0.0)) return 0;
  const double target = fraction * total * (1.0 - kSlack);
  double sum = 0.0;
  std::size_t k = 0;
  while (k < sorted.size() && sum < target) sum += sorted[k++];
  return static_cast<Index>(k);
}

}  // namespace headgauge
#endif
