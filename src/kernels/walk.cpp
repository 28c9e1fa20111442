#include "kernels/walk.hpp"

#include <algorithm>
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

constexpr float kInfinite = std::numeric_limits<float>::infinity();

#if HEADGAUGE_PLAIN

// q of one capture of a sum over the 48 columns of panel number `panel` of the row's.
void capture_q(const WalkSum& sum, const WalkRow& row, const float* total, Index c, int size,
               Index panel) {
  const Index column = panel * kWalkColumns;
  for (Index j = 0; j < kWalkColumns; ++j) {
    const float w = sum.weight[column + j];
    const float q = w * (w - 2.0f * total[j]);
    const std::int32_t rank = row.rank[column + j];
    float& lowest = sum.lowest[c * kWalkLanes + j % kWalkLanes];
    if (rank >= size) lowest = std::min(lowest, q);
    if (rank >= 0 && rank < size) sum.inside[c * sum.inside_stride + rank] = q;
  }
}

void prefix_panel(const float* gram, const PrefixWalk& walk, Index panel) {
  const Index column = panel * kWalkColumns;
  const WalkEvent* events = walk.row.events + walk.row.first_event[panel];
  const WalkEvent* last = walk.row.events + walk.row.first_event[panel + 1];
  for (const WalkSum* sum : {&walk.first, &walk.second}) {
    if (sum->coefficient == nullptr) continue;
    float total[kWalkColumns] = {};
    const WalkEvent* event = events;
    std::size_t capture = 0;
    for (int step = 0;; ++step) {
      for (; sum->before != nullptr && event != last && event->rank == step; ++event) {
        sum->before[step] = total[event->column];
      }
      if (capture < walk.captures.size() && walk.captures[capture] == step) {
        const auto c = static_cast<Index>(capture++);
        if (sum->stored != nullptr) {
          std::copy_n(total, kWalkColumns, sum->stored + c * sum->stored_stride + column);
        }
        if (sum->weight != nullptr) capture_q(*sum, walk.row, total, c, step, panel);
      }
      if (capture == walk.captures.size() && (sum->before == nullptr || event == last)) break;
      const float* row = gram + walk.row.member_rows[step] * kWalkColumns;
      for (Index j = 0; j < kWalkColumns; ++j) total[j] += sum->coefficient[step] * row[j];
    }
  }
}

void prefixes(const PackedMatrix& gram, const PrefixWalk* rows, std::size_t count) {
  for (std::size_t r = 0; r < count; ++r) {
    for (Index p = 0; p < rows[r].row.panels; ++p) {
      prefix_panel(gram.panel(rows[r].row.first_panel + p), rows[r], p);
    }
  }
}

void captures(const PrefixWalk* rows, std::size_t count) {
  for (std::size_t r = 0; r < count; ++r) {
    const WalkSum& sum = rows[r].first;
    for (std::size_t c = 0; c < rows[r].captures.size(); ++c) {
      const auto capture = static_cast<Index>(c);
      for (Index p = 0; p < rows[r].row.panels; ++p) {
        capture_q(sum, rows[r].row, sum.stored + capture * sum.stored_stride + p * kWalkColumns,
                  capture, rows[r].captures[c], p);
      }
    }
  }
}

void distances(const PackedMatrix& gram, const DistanceWalk* rows, std::size_t count) {
  for (std::size_t r = 0; r < count; ++r) {
    const DistanceWalk& walk = rows[r];
    for (Index column = 0; column < walk.row.panels * kWalkColumns; ++column) {
      const std::int32_t rank = walk.row.rank[column];
      if (rank == kNoKey) continue;
      const float* panel = gram.panel(walk.row.first_panel + column / kWalkColumns);
      const float w = walk.weight[column];
      float total = 0;
      for (int step = 0; step < walk.steps; ++step) {
        total += walk.coefficient[step] *
                 panel[walk.row.member_rows[step] * kWalkColumns + column % kWalkColumns];
        const Index lane = step * kWalkLanes + column % kWalkLanes;
        if (rank > step) {
          const float d = w * (w - 2.0f * total) + walk.set_square[step];
          walk.distance[lane] += std::sqrt(std::max(d, 0.0f));
        }
        const float t = w + walk.spread * static_cast<float>(step + 1) * walk.norm[column];
        const float e = t * (t - 2.0f * walk.projection[column]) + walk.total_square;
        walk.context[lane] += std::sqrt(std::max(e, 0.0f));
      }
    }
  }
}

#else

// Radicands are raised to this before the square root: 1 / sqrt(0) is infinite. Its root adds
// nothing to a float32 sum.
constexpr float kTiny = 1e-37f;

// The vectors of a panel.
#if HWY_TARGET == HWY_AVX3
using D = hn::FixedTag<float, 16>;
#elif HWY_TARGET == HWY_AVX2
using D = hn::FixedTag<float, 8>;
#else
using D = hn::FixedTag<float, 4>;
#endif
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
constexpr Index kLanes = static_cast<Index>(hn::MaxLanes(D()));
constexpr int C = kWalkColumns / kLanes;

// sum + sqrt(x) for x >= kTiny, to 1e-4 or better: where the estimate of 1 / sqrt(x) is good to 14
// bits it will do.
HWY_INLINE V add_root(V sum, V x) {
  const D d;
  const V r = hn::ApproximateReciprocalSqrt(x);
#if HWY_TARGET == HWY_AVX3
  static_cast<void>(d);
  return hn::MulAdd(x, r, sum);
#else
  // One Newton step.
  const V y = hn::Mul(x, r);
  const V h = hn::Mul(y, hn::Set(d, 0.5f));
  return hn::MulAdd(h, hn::NegMulAdd(y, r, hn::Set(d, 3.0f)), sum);
#endif
}

HWY_INLINE M outside(const std::int32_t* rank, int size) {
  const DI di;
  return hn::RebindMask(D(), hn::Gt(hn::LoadU(di, rank), hn::Set(di, size - 1)));
}

HWY_INLINE void capture_sum(const WalkSum& sum, const WalkRow& row, const V (&total)[C], Index c,
                            int size, Index panel) {
  const D d;
  const Index column = panel * kWalkColumns;
  if (sum.stored != nullptr) {
    float* to = sum.stored + c * sum.stored_stride + column;
    for (int v = 0; v < C; ++v) hn::StoreU(total[v], d, to + v * kLanes);
  }
  if (sum.weight == nullptr) return;
  HWY_ALIGN float q_columns[kWalkColumns];
  V lowest = hn::LoadU(d, sum.lowest + c * kWalkLanes);
  for (int v = 0; v < C; ++v) {
    const V w = hn::LoadU(d, sum.weight + column + v * kLanes);
    const V q = hn::Mul(w, hn::NegMulAdd(hn::Set(d, 2.0f), total[v], w));
    hn::Store(q, d, q_columns + v * kLanes);
    const M out = outside(row.rank + column + v * kLanes, size);
    lowest = hn::Min(lowest, hn::IfThenElse(out, q, hn::Set(d, kInfinite)));
  }
  hn::StoreU(lowest, d, sum.lowest + c * kWalkLanes);
  float* inside = sum.inside + c * sum.inside_stride;
  const WalkEvent* event = row.events + row.first_event[panel];
  const WalkEvent* last = row.events + row.first_event[panel + 1];
  for (; event != last && event->rank < size; ++event) {
    inside[event->rank] = q_columns[event->column];
  }
}

// One row over one panel, number `panel` of the row's. Members are added to two totals in turn
// (kTwo: for each of two sums), so that additions do not wait for the one before.
template <bool kTwo>
HWY_NOINLINE void prefix_panel(const float* HWY_RESTRICT gram, const PrefixWalk& walk,
                               Index panel) {
  const D d;
  const std::uint32_t* HWY_RESTRICT member = walk.row.member_rows;
  const float* HWY_RESTRICT first_of = walk.first.coefficient;
  const float* HWY_RESTRICT second_of = walk.second.coefficient;
  // Where registers are few, two sums are two chains of additions already.
  constexpr bool kTurns = !kTwo || HWY_TARGET == HWY_AVX3;
  V first[C], second[C], first_odd[C], second_odd[C];
  const auto clear = [&](V(&total)[C]) HWY_ATTR {
#pragma GCC unroll 12
    for (int v = 0; v < C; ++v) total[v] = hn::Zero(d);
  };
  clear(first);
  clear(second);
  const auto add = [&](int step, V(&to_first)[C], V(&to_second)[C]) HWY_ATTR {
    const float* HWY_RESTRICT row = gram + member[step] * kWalkColumns;
    const V x = hn::Set(d, first_of[step]);
    V y = x;
    if constexpr (kTwo) y = hn::Set(d, second_of[step]);
#pragma GCC unroll 12
    for (int v = 0; v < C; ++v) {
      const V g = hn::Load(d, row + v * kLanes);
      to_first[v] = hn::MulAdd(x, g, to_first[v]);
      if constexpr (kTwo) to_second[v] = hn::MulAdd(y, g, to_second[v]);
    }
  };
  const WalkEvent* event = walk.row.events + walk.row.first_event[panel];
  const WalkEvent* last = walk.row.events + walk.row.first_event[panel + 1];
  if (walk.first.before == nullptr) event = last;
  std::size_t capture = 0;
  int step = 0;
  while (true) {
    int stop = capture < walk.captures.size() ? walk.captures[capture] : kUnranked;
    if (event != last) stop = std::min<int>(stop, event->rank);
    if (stop == kUnranked) return;
    if (kTurns && step + 1 < stop) {
      clear(first_odd);
      clear(second_odd);
      for (; step + 1 < stop; step += 2) {
        add(step, first, second);
        add(step + 1, first_odd, second_odd);
      }
#pragma GCC unroll 12
      for (int v = 0; v < C; ++v) {
        first[v] = hn::Add(first[v], first_odd[v]);
        if constexpr (kTwo) second[v] = hn::Add(second[v], second_odd[v]);
      }
    }
    for (; step < stop; ++step) add(step, first, second);
    if (event != last && event->rank == step) {
      HWY_ALIGN float columns[kWalkColumns];
#pragma GCC unroll 12
      for (int v = 0; v < C; ++v) hn::Store(first[v], d, columns + v * kLanes);
      walk.first.before[step] = columns[event->column];
      ++event;
    }
    if (capture < walk.captures.size() && walk.captures[capture] == step) {
      const auto c = static_cast<Index>(capture++);
      capture_sum(walk.first, walk.row, first, c, step, panel);
      if constexpr (kTwo) capture_sum(walk.second, walk.row, second, c, step, panel);
    }
  }
}

// One past the last panel of the rows.
template <class Walk>
Index end_panel(const Walk* rows, std::size_t count) {
  Index end = 0;
  for (std::size_t r = 0; r < count; ++r) {
    end = std::max(end, rows[r].row.first_panel + rows[r].row.panels);
  }
  return end;
}

// All rows pass a panel while it is in the cache.
template <class Walk, class Pass>
HWY_INLINE void pass_panels(const PackedMatrix& gram, const Walk* rows, std::size_t count,
                            const Pass& pass) {
  const Index end = end_panel(rows, count);
  for (Index panel = 0; panel < end; ++panel) {
    for (std::size_t r = 0; r < count; ++r) {
      const Index p = panel - rows[r].row.first_panel;
      if (p >= 0 && p < rows[r].row.panels) pass(gram.panel(panel), rows[r], p);
    }
  }
}

void prefixes(const PackedMatrix& gram, const PrefixWalk* rows, std::size_t count) {
  pass_panels(gram, rows, count, [](const float* panel, const PrefixWalk& walk, Index p) HWY_ATTR {
    if (walk.second.coefficient == nullptr) {
      prefix_panel<false>(panel, walk, p);
    } else {
      prefix_panel<true>(panel, walk, p);
    }
  });
}

void captures(const PrefixWalk* rows, std::size_t count) {
  const D d;
  for (std::size_t r = 0; r < count; ++r) {
    WalkSum sum = rows[r].first;
    sum.stored = nullptr;
    for (std::size_t c = 0; c < rows[r].captures.size(); ++c) {
      const auto capture = static_cast<Index>(c);
      const float* from = rows[r].first.stored + capture * sum.stored_stride;
      for (Index p = 0; p < rows[r].row.panels; ++p) {
        V total[C];
#pragma GCC unroll 12
        for (int v = 0; v < C; ++v) {
          total[v] = hn::LoadU(d, from + p * kWalkColumns + v * kLanes);
        }
        capture_sum(sum, rows[r].row, total, capture, rows[r].captures[c], p);
      }
    }
  }
}

// One row over one panel, number `panel` of the row's.
HWY_NOINLINE void distance_strip(const float* HWY_RESTRICT gram, const DistanceWalk& walk,
                                 Index panel) {
  const D d;
  const Index column = panel * kWalkColumns;
  const std::uint32_t* HWY_RESTRICT member = walk.row.member_rows;
  const float* HWY_RESTRICT coefficient = walk.coefficient;
  const float* HWY_RESTRICT set_square = walk.set_square;
  // w^2, which becomes -inf once a column's key is in the set, so that it adds nothing; -2 w; and
  // the context's radicand as a polynomial in k, square k^2 + linear k + constant.
  HWY_ALIGN float own[kWalkColumns];
  HWY_ALIGN float twice[kWalkColumns];
  HWY_ALIGN float square[kWalkColumns];
  HWY_ALIGN float linear[kWalkColumns];
  HWY_ALIGN float constant[kWalkColumns];
  V p[C];
  const V total = hn::Set(d, walk.total_square);
  const V nothing = hn::Set(d, -kInfinite);
#pragma GCC unroll 12
  for (int v = 0; v < C; ++v) {
    const Index at = column + v * kLanes;
    const M key = outside(walk.row.rank + at, 0);
    const V w = hn::LoadU(d, walk.weight + at);
    const V norm = hn::LoadU(d, walk.norm + at);
    const V z = hn::LoadU(d, walk.projection + at);
    const V lean = hn::Sub(w, z);
    hn::Store(hn::IfThenElse(key, hn::Mul(w, w), nothing), d, own + v * kLanes);
    hn::Store(hn::Mul(w, hn::Set(d, -2.0f)), d, twice + v * kLanes);
    hn::Store(hn::IfThenElseZero(key, hn::Mul(norm, norm)), d, square + v * kLanes);
    hn::Store(hn::IfThenElseZero(key, hn::Mul(hn::Add(norm, norm), lean)), d, linear + v * kLanes);
    hn::Store(hn::IfThenElse(key, hn::MulAdd(w, hn::Sub(lean, z), total), nothing), d,
              constant + v * kLanes);
    p[v] = hn::Zero(d);
  }
  const WalkEvent* event = walk.row.events + walk.row.first_event[panel];
  const WalkEvent* last = walk.row.events + walk.row.first_event[panel + 1];
  const V tiny = hn::Set(d, kTiny);
  int step = 0;
  while (step < walk.steps) {
    // The member of rank `step` is in the set from this step on.
    for (; event != last && event->rank == step; ++event) own[event->column] = -kInfinite;
    const int stop = event == last ? walk.steps : std::min<int>(walk.steps, event->rank);
    for (; step < stop; ++step) {
      const float* HWY_RESTRICT row = gram + member[step] * kWalkColumns;
      const V x = hn::Set(d, coefficient[step]);
      const V s2 = hn::Set(d, set_square[step]);
      const V k = hn::Set(d, walk.spread * static_cast<float>(step + 1));
      float* to_distance = walk.distance + step * kWalkLanes;
      float* to_context = walk.context + step * kWalkLanes;
      V distance = hn::LoadU(d, to_distance), context = hn::LoadU(d, to_context);
#pragma GCC unroll 12
      for (int v = 0; v < C; ++v) {
        p[v] = hn::MulAdd(x, hn::Load(d, row + v * kLanes), p[v]);
        const V a = hn::MulAdd(hn::Load(d, twice + v * kLanes), p[v],
                               hn::Add(s2, hn::Load(d, own + v * kLanes)));
        distance = add_root(distance, hn::Max(a, tiny));
        const V b =
            hn::MulAdd(hn::Load(d, square + v * kLanes), k, hn::Load(d, linear + v * kLanes));
        const V e = hn::MulAdd(b, k, hn::Load(d, constant + v * kLanes));
        context = add_root(context, hn::Max(e, tiny));
      }
      hn::StoreU(distance, d, to_distance);
      hn::StoreU(context, d, to_context);
    }
  }
}

void distances(const PackedMatrix& gram, const DistanceWalk* rows, std::size_t count) {
  pass_panels(gram, rows, count,
              [](const float* panel, const DistanceWalk& walk, Index p)
                  HWY_ATTR { distance_strip(panel, walk, p); });
}

#endif  // HEADGAUGE_PLAIN

}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(prefixes);
HWY_EXPORT(captures);
HWY_EXPORT(distances);

void walk_prefixes(const PackedMatrix& gram, std::span<const PrefixWalk> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(prefixes)(gram, rows.data(), rows.size());
}

void capture_prefixes(std::span<const PrefixWalk> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(captures)(rows.data(), rows.size());
}

void walk_distances(const PackedMatrix& gram, std::span<const DistanceWalk> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(distances)(gram, rows.data(), rows.size());
}

}  // namespace headgauge
#endif
