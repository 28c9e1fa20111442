#include "kernels/walk.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/walk.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Radicands are raised to this before the square root: 1 / sqrt(0) is infinite. Its root adds
// nothing to a float32 sum.
constexpr float kTiny = 1e-37f;
constexpr float kInfinite = std::numeric_limits<float>::infinity();

#if HEADGAUGE_PLAIN

// One column at a time, in the obvious order.
void prefixes(const float* panel, const PrefixWalk* rows, std::size_t count) {
  for (std::size_t r = 0; r < count; ++r) {
    const PrefixWalk& walk = rows[r];
    for (const WalkSum* sum : {&walk.first, &walk.second}) {
      if (sum->coefficient == nullptr) continue;
      float total[kWalkColumns] = {};
      std::size_t event = 0, capture = 0;
      for (int step = 0;; ++step) {
        while (event < walk.row.events.size() && walk.row.events[event].rank == step) {
          const WalkEvent& at = walk.row.events[event++];
          if (sum->before != nullptr) sum->before[at.rank] = total[at.column];
        }
        if (capture < walk.captures.size() && walk.captures[capture] == step) {
          const auto c = static_cast<Index>(capture++);
          for (Index j = 0; j < kWalkColumns; ++j) {
            if (sum->stored != nullptr) sum->stored[c * sum->stored_stride + j] = total[j];
            if (sum->weight == nullptr) continue;
            const float q = sum->weight[j] * (sum->weight[j] - 2.0f * total[j]);
            const std::int32_t rank = walk.row.rank[j];
            float& lowest = sum->lowest[c * kWalkLanes + j % kWalkLanes];
            if (rank >= step) lowest = std::min(lowest, q);
            if (rank >= 0 && rank < step) sum->inside[c * sum->inside_stride + rank] = q;
          }
        }
        if (event == walk.row.events.size() && capture == walk.captures.size()) break;
        const float* gram = panel + walk.row.member_rows[step] * kWalkColumns;
        for (Index j = 0; j < kWalkColumns; ++j) total[j] += sum->coefficient[step] * gram[j];
      }
    }
  }
}

void distances(const float* panel, const DistanceWalk* rows, std::size_t count) {
  for (std::size_t r = 0; r < count; ++r) {
    const DistanceWalk& walk = rows[r];
    float total[kWalkColumns] = {};
    for (int step = 0; step < walk.steps; ++step) {
      const float* gram = panel + walk.row.member_rows[step] * kWalkColumns;
      const float k = walk.spread * static_cast<float>(step + 1);
      for (Index j = 0; j < kWalkColumns; ++j) {
        total[j] += walk.coefficient[step] * gram[j];
        const Index lane = step * kWalkLanes + j % kWalkLanes;
        const float w = walk.weight[j];
        if (walk.row.rank[j] > step) {
          const float d = w * (w - 2.0f * total[j]) + walk.set_square[step];
          walk.distance[lane] += std::sqrt(std::max(d, 0.0f));
        }
        const float t = w + k * walk.norm[j];
        const float e = t * (t - 2.0f * walk.projection[j]) + walk.total_square;
        walk.context[lane] += std::sqrt(std::max(e, 0.0f));
      }
    }
  }
}

double distance_sum(const float* weight, const std::int32_t* rank, const float* product,
                    std::size_t n, int size, float set_square) {
  double sum = 0;
  for (std::size_t j = 0; j < n; ++j) {
    if (rank[j] < size) continue;
    sum += std::sqrt(std::max(weight[j] * (weight[j] - 2.0f * product[j]) + set_square, 0.0f));
  }
  return sum;
}

ExpectedSums expected_sums(const float* weight, const float* projection, const float* norm,
                           std::size_t n, const ExpectedCoefficients& c) {
  ExpectedSums sums;
  for (std::size_t j = 0; j < n; ++j) {
    const float y = weight[j], z = projection[j];
    const float y1 = c.main_scale * y;
    const float main = std::max(y1 * (y1 - c.main_linear * z) + c.main_constant, 0.0f);
    const float upper = y * (c.upper_square * y + c.upper_linear * z) + c.upper_constant;
    const float t = y + c.spread * norm[j];
    sums.main += std::sqrt(main);
    sums.upper += std::sqrt(std::max(main, upper));
    sums.context += std::sqrt(std::max(t * (t - 2.0f * z) + c.total_square, 0.0f));
  }
  return sums;
}

float farthest(const float* gram, const float* norm, const std::int32_t* rank, int size,
               float scale) {
  float far = -kInfinite;
  for (Index j = 0; j < kWalkColumns; ++j) {
    if (rank[j] >= size) far = std::max(far, norm[j] * (norm[j] - 2.0f * scale * gram[j]));
  }
  return far;
}

#else

using D = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

// Vectors of columns that walk together: as many as registers allow.
#if HWY_TARGET == HWY_AVX2
constexpr int kPrefixVectors = 6;
constexpr int kDistanceVectors = 3;
#else
constexpr int kPrefixVectors = 3;
constexpr int kDistanceVectors = 3;
#endif

// sum + sqrt(x) for x >= kTiny, times 2: one Newton step on the CPU's estimate of 1 / sqrt(x),
// y (3 - y r) with y = x r.
HWY_INLINE V add_twice_root(V sum, V x) {
  const D d;
  const V r = hn::ApproximateReciprocalSqrt(x);
  const V y = hn::Mul(x, r);
  return hn::MulAdd(y, hn::NegMulAdd(y, r, hn::Set(d, 3.0f)), sum);
}

HWY_INLINE M outside(const std::int32_t* rank, int size) {
  const DI di;
  return hn::RebindMask(D(), hn::Gt(hn::LoadU(di, rank), hn::Set(di, size - 1)));
}

HWY_INLINE double sum_lanes(V sum) {
  const D d;
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(sum, d, lanes);
  double total = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) total += lanes[i];
  return total;
}

// The part of `event`s that lies in columns [first, last).
HWY_INLINE bool within(const WalkEvent& event, Index first, Index last) {
  return event.column >= first && event.column < last;
}

template <int C>
HWY_INLINE void capture_sum(const WalkSum& sum, const WalkRow& row, const V (&total)[C], Index c,
                            int size, Index column) {
  const D d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  if (sum.stored != nullptr) {
    float* to = sum.stored + c * sum.stored_stride + column;
    for (int v = 0; v < C; ++v) hn::StoreU(total[v], d, to + v * lanes);
  }
  if (sum.weight == nullptr) return;
  HWY_ALIGN float q_columns[C * HWY_MAX_BYTES / sizeof(float)];
  V lowest = hn::LoadU(d, sum.lowest + c * kWalkLanes);
  for (int v = 0; v < C; ++v) {
    const V w = hn::LoadU(d, sum.weight + column + v * lanes);
    const V q = hn::Mul(w, hn::NegMulAdd(hn::Set(d, 2.0f), total[v], w));
    hn::Store(q, d, q_columns + v * lanes);
    const M out = outside(row.rank + column + v * lanes, size);
    lowest = hn::Min(lowest, hn::IfThenElse(out, q, hn::Set(d, kInfinite)));
  }
  hn::StoreU(lowest, d, sum.lowest + c * kWalkLanes);
  for (const WalkEvent& event : row.events) {
    if (event.rank >= size) break;
    if (within(event, column, column + C * lanes)) {
      sum.inside[c * sum.inside_stride + event.rank] = q_columns[event.column - column];
    }
  }
}

template <int C>
HWY_INLINE float lane_of(const V (&total)[C], Index at) {
  const D d;
  HWY_ALIGN float all[C * HWY_MAX_BYTES / sizeof(float)];
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  for (int v = 0; v < C; ++v) hn::Store(total[v], d, all + v * lanes);
  return all[at];
}

// One row over C vectors of columns, the first of them `column`.
template <int C, bool kTwo>
HWY_NOINLINE void prefix_strip(const float* HWY_RESTRICT panel, const PrefixWalk& walk,
                               Index column) {
  const D d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const Index end = column + C * lanes;
  const std::uint32_t* HWY_RESTRICT member = walk.row.member_rows;
  const float* HWY_RESTRICT first_of = walk.first.coefficient;
  const float* HWY_RESTRICT second_of = walk.second.coefficient;
  V first[C], second[C];
  for (int v = 0; v < C; ++v) first[v] = second[v] = hn::Zero(d);
  const auto events = walk.row.events;
  std::size_t event = 0, capture = 0;
  int step = 0;
  while (true) {
    while (event < events.size() && !within(events[event], column, end)) ++event;
    int stop = kUnranked;
    if (event < events.size()) stop = events[event].rank;
    if (capture < walk.captures.size()) stop = std::min(stop, walk.captures[capture]);
    if (stop == kUnranked) return;
    for (; step < stop; ++step) {
      const float* HWY_RESTRICT gram = panel + member[step] * kWalkColumns + column;
      const V x = hn::Set(d, first_of[step]);
      V y = x;
      if constexpr (kTwo) y = hn::Set(d, second_of[step]);
#pragma GCC unroll 6
      for (int v = 0; v < C; ++v) {
        const V g = hn::Load(d, gram + v * lanes);
        first[v] = hn::MulAdd(x, g, first[v]);
        if constexpr (kTwo) second[v] = hn::MulAdd(y, g, second[v]);
      }
    }
    if (event < events.size() && events[event].rank == step) {
      const Index at = events[event++].column - column;
      if (walk.first.before != nullptr) walk.first.before[step] = lane_of<C>(first, at);
      if constexpr (kTwo) {
        if (walk.second.before != nullptr) walk.second.before[step] = lane_of<C>(second, at);
      }
    }
    if (capture < walk.captures.size() && walk.captures[capture] == step) {
      const auto c = static_cast<Index>(capture++);
      capture_sum<C>(walk.first, walk.row, first, c, step, column);
      if constexpr (kTwo) capture_sum<C>(walk.second, walk.row, second, c, step, column);
    }
  }
}

void prefixes(const float* panel, const PrefixWalk* rows, std::size_t count) {
  const Index strip = kPrefixVectors * static_cast<Index>(hn::Lanes(D()));
  for (std::size_t r = 0; r < count; ++r) {
    for (Index column = 0; column < kWalkColumns; column += strip) {
      if (rows[r].second.coefficient != nullptr) {
        prefix_strip<kPrefixVectors, true>(panel, rows[r], column);
      } else {
        prefix_strip<kPrefixVectors, false>(panel, rows[r], column);
      }
    }
  }
}

template <int C>
HWY_NOINLINE void distance_strip(const float* HWY_RESTRICT panel, const DistanceWalk& walk,
                                 Index column) {
  const D d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const Index end = column + C * lanes;
  const std::uint32_t* HWY_RESTRICT member = walk.row.member_rows;
  const float* HWY_RESTRICT coefficient = walk.coefficient;
  const float* HWY_RESTRICT set_square = walk.set_square;
  // A column's w^2 becomes -inf once its key is in the set, so that it adds nothing.
  HWY_ALIGN float square[C * HWY_MAX_BYTES / sizeof(float)];
  HWY_ALIGN float twice[C * HWY_MAX_BYTES / sizeof(float)];    // -2 w
  HWY_ALIGN float doubled[C * HWY_MAX_BYTES / sizeof(float)];  // 2 <u, Y>
  V p[C], own[C];
  for (int v = 0; v < C; ++v) {
    const Index at = column + v * lanes;
    const V w = hn::LoadU(d, walk.weight + at);
    const M key = outside(walk.row.rank + at, 0);
    own[v] = hn::IfThenElse(key, hn::Mul(w, w), hn::Set(d, -kInfinite));
    hn::Store(own[v], d, square + v * lanes);
    hn::Store(hn::Mul(w, hn::Set(d, -2.0f)), d, twice + v * lanes);
    const V z = hn::LoadU(d, walk.projection + at);
    hn::Store(hn::Add(z, z), d, doubled + v * lanes);
    p[v] = hn::Zero(d);
  }
  const auto events = walk.row.events;
  std::size_t event = 0;
  const V tiny = hn::Set(d, kTiny);
  const V total = hn::Set(d, walk.total_square);
  int step = 0;
  while (step < walk.steps) {
    // The member of rank `step` is in the set from this step on.
    while (event < events.size() &&
           (events[event].rank == step || !within(events[event], column, end))) {
      if (within(events[event], column, end)) {
        const Index at = events[event].column - column;
        square[at] = -kInfinite;
        for (int v = 0; v < C; ++v) own[v] = hn::Load(d, square + v * lanes);
      }
      ++event;
    }
    int stop = walk.steps;
    if (event < events.size()) stop = std::min(stop, static_cast<int>(events[event].rank));
    for (; step < stop; ++step) {
      const float* HWY_RESTRICT gram = panel + member[step] * kWalkColumns + column;
      const V x = hn::Set(d, coefficient[step]);
      const V s2 = hn::Set(d, set_square[step]);
      const V k = hn::Set(d, walk.spread * static_cast<float>(step + 1));
      V distance = hn::Zero(d), context = distance;
#pragma GCC unroll 6
      for (int v = 0; v < C; ++v) {
        p[v] = hn::MulAdd(x, hn::Load(d, gram + v * lanes), p[v]);
        const V a = hn::MulAdd(hn::Load(d, twice + v * lanes), p[v], hn::Add(own[v], s2));
        distance = add_twice_root(distance, hn::Max(a, tiny));
        const V t = hn::MulAdd(k, hn::LoadU(d, walk.norm + column + v * lanes),
                               hn::LoadU(d, walk.weight + column + v * lanes));
        const V b = hn::MulAdd(t, hn::Sub(t, hn::Load(d, doubled + v * lanes)), total);
        context = add_twice_root(context, hn::Max(b, tiny));
      }
      float* to_distance = walk.distance + step * kWalkLanes;
      float* to_context = walk.context + step * kWalkLanes;
      const V half = hn::Set(d, 0.5f);
      hn::StoreU(hn::MulAdd(distance, half, hn::LoadU(d, to_distance)), d, to_distance);
      hn::StoreU(hn::MulAdd(context, half, hn::LoadU(d, to_context)), d, to_context);
    }
  }
}

void distances(const float* panel, const DistanceWalk* rows, std::size_t count) {
  const Index strip = kDistanceVectors * static_cast<Index>(hn::Lanes(D()));
  for (std::size_t r = 0; r < count; ++r) {
    for (Index column = 0; column < kWalkColumns; column += strip) {
      distance_strip<kDistanceVectors>(panel, rows[r], column);
    }
  }
}

double distance_sum(const float* weight, const std::int32_t* rank, const float* product,
                    std::size_t n, int size, float set_square) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V s2 = hn::Set(d, set_square), tiny = hn::Set(d, kTiny);
  V sum = hn::Zero(d);
  for (std::size_t j = 0; j < n; j += lanes) {
    const V w = hn::LoadU(d, weight + j);
    const V lean = hn::NegMulAdd(hn::Set(d, 2.0f), hn::LoadU(d, product + j), w);
    const V a = hn::Max(hn::MulAdd(w, lean, s2), tiny);
    sum = add_twice_root(sum, hn::IfThenElse(outside(rank + j, size), a, tiny));
  }
  return 0.5 * sum_lanes(sum);
}

ExpectedSums expected_sums(const float* weight, const float* projection, const float* norm,
                           std::size_t n, const ExpectedCoefficients& c) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V tiny = hn::Set(d, kTiny);
  const V scale = hn::Set(d, c.main_scale), linear = hn::Set(d, c.main_linear);
  const V constant = hn::Set(d, c.main_constant), total = hn::Set(d, c.total_square);
  const V square = hn::Set(d, c.upper_square), cross = hn::Set(d, c.upper_linear);
  const V rest = hn::Set(d, c.upper_constant), spread = hn::Set(d, c.spread);
  V main = hn::Zero(d), upper = main, context = main;
  for (std::size_t j = 0; j < n; j += lanes) {
    const V y = hn::LoadU(d, weight + j), z = hn::LoadU(d, projection + j);
    const V y1 = hn::Mul(scale, y);
    const V a = hn::Max(hn::MulAdd(y1, hn::NegMulAdd(linear, z, y1), constant), tiny);
    main = add_twice_root(main, a);
    const V b = hn::MulAdd(y, hn::MulAdd(square, y, hn::Mul(cross, z)), rest);
    upper = add_twice_root(upper, hn::Max(a, b));
    const V t = hn::MulAdd(spread, hn::LoadU(d, norm + j), y);
    const V e = hn::MulAdd(t, hn::NegMulAdd(hn::Set(d, 2.0f), z, t), total);
    context = add_twice_root(context, hn::Max(e, tiny));
  }
  return {0.5 * sum_lanes(main), 0.5 * sum_lanes(upper), 0.5 * sum_lanes(context)};
}

float farthest(const float* gram, const float* norm, const std::int32_t* rank, int size,
               float scale) {
  const D d;
  const Index lanes = static_cast<Index>(hn::Lanes(d));
  const V twice = hn::Set(d, 2.0f * scale), none = hn::Set(d, -kInfinite);
  V far = none;
  for (Index j = 0; j < kWalkColumns; j += lanes) {
    const V x = hn::LoadU(d, norm + j);
    const V value = hn::Mul(x, hn::NegMulAdd(twice, hn::LoadU(d, gram + j), x));
    far = hn::Max(far, hn::IfThenElse(outside(rank + j, size), value, none));
  }
  return hn::GetLane(hn::MaxOfLanes(d, far));
}

#endif  // HEADGAUGE_PLAIN

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(prefixes);
HWY_EXPORT(distances);
HWY_EXPORT(distance_sum);
HWY_EXPORT(expected_sums);
HWY_EXPORT(farthest);

void walk_prefixes(const float* panel, std::span<const PrefixWalk> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(prefixes)(panel, rows.data(), rows.size());
}

void walk_distances(const float* panel, std::span<const DistanceWalk> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(distances)(panel, rows.data(), rows.size());
}

double sum_distances(std::span<const float> weight, std::span<const std::int32_t> rank,
                     std::span<const float> product, int size, float set_square) {
  assert(weight.size() % kWalkColumns == 0 && rank.size() == weight.size());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(distance_sum)(weight.data(), rank.data(), product.data(),
                                            weight.size(), size, set_square);
}

ExpectedSums sum_expected(std::span<const float> weight, std::span<const float> projection,
                          std::span<const float> norm, const ExpectedCoefficients& coefficients) {
  assert(weight.size() % kWalkColumns == 0 && norm.size() >= weight.size());
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(expected_sums)(weight.data(), projection.data(), norm.data(),
                                             weight.size(), coefficients);
}

float farthest_outside(const float* gram, const float* norm, const std::int32_t* rank, int size,
                       float scale) {
  ensure_simd_level();
  return HWY_DYNAMIC_DISPATCH(farthest)(gram, norm, rank, size, scale);
}

}  // namespace headgauge
#endif
