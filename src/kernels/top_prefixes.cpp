#include "kernels/top_prefixes.hpp"

#include <algorithm>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/top_prefixes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/top_prefixes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

HWY_INLINE void capture_sum(const PrefixSum& sum, const PrefixRow& row, const V (&total)[C],
                            Index c, int size, Index panel) {
  const D d;
  const Index column = panel * kPrefixColumns;
  if (sum.stored != nullptr) {
    float* to = sum.stored + c * sum.stored_stride + column;
    for (int v = 0; v < C; ++v) hn::StoreU(total[v], d, to + v * kLanes);
  }
  if (sum.weight == nullptr) return;
  HWY_ALIGN float q_columns[kPrefixColumns];
  V lowest = hn::LoadU(d, sum.lowest + c * kPrefixLanes);
  for (int v = 0; v < C; ++v) {
    const V w = hn::LoadU(d, sum.weight + column + v * kLanes);
    const V q = hn::Mul(w, hn::NegMulAdd(hn::Set(d, 2.0f), total[v], w));
    hn::Store(q, d, q_columns + v * kLanes);
    const M out = outside(row.rank + column + v * kLanes, size);
    lowest = hn::Min(lowest, hn::IfThenElse(out, q, hn::Set(d, kInfinite)));
  }
  hn::StoreU(lowest, d, sum.lowest + c * kPrefixLanes);
  float* inside = sum.inside + c * sum.inside_stride;
  const PrefixEvent* event = row.events + row.first_event[panel];
  const PrefixEvent* last = row.events + row.first_event[panel + 1];
  for (; event != last && event->rank < size; ++event) {
    inside[event->rank] = q_columns[event->column];
  }
}

// Processes one row and one panel. Members are added alternately to two totals (with kTwo: each of
// two sums), so that no addition waits for the one before.
template <bool kTwo>
HWY_NOINLINE void prefix_panel(const float* HWY_RESTRICT gram, const PrefixSums& prefix,
                               Index panel) {
  const D d;
  const std::uint32_t* HWY_RESTRICT member = prefix.row.member_rows;
  const float* HWY_RESTRICT first_of = prefix.first.coefficient;
  const float* HWY_RESTRICT second_of = prefix.second.coefficient;
  // If registers are few, the two sums already are two chains of additions.
  constexpr bool kTurns = !kTwo || HWY_TARGET == HWY_AVX3;
  V first[C], second[C], first_odd[C], second_odd[C];
  const auto clear = [&](V(&total)[C]) HWY_ATTR {
#pragma GCC unroll 12
    for (int v = 0; v < C; ++v) total[v] = hn::Zero(d);
  };
  clear(first);
  clear(second);
  const auto add = [&](int step, V(&to_first)[C], V(&to_second)[C]) HWY_ATTR {
    const float* HWY_RESTRICT row = gram + member[step] * kPrefixColumns;
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
  const PrefixEvent* event = prefix.row.events + prefix.row.first_event[panel];
  const PrefixEvent* last = prefix.row.events + prefix.row.first_event[panel + 1];
  if (prefix.first.before == nullptr) event = last;
  std::size_t capture = 0;
  int step = 0;
  while (true) {
    int stop = capture < prefix.captures.size() ? prefix.captures[capture] : kUnranked;
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
      HWY_ALIGN float columns[kPrefixColumns];
#pragma GCC unroll 12
      for (int v = 0; v < C; ++v) hn::Store(first[v], d, columns + v * kLanes);
      prefix.first.before[step] = columns[event->column];
      ++event;
    }
    if (capture < prefix.captures.size() && prefix.captures[capture] == step) {
      const auto c = static_cast<Index>(capture++);
      capture_sum(prefix.first, prefix.row, first, c, step, panel);
      if constexpr (kTwo) capture_sum(prefix.second, prefix.row, second, c, step, panel);
    }
  }
}

void prefixes(const PackedMatrix& gram, const PrefixSums* rows, std::size_t count) {
  pass_panels(gram, rows, count,
              [](const float* panel, const PrefixSums& prefix, Index p) HWY_ATTR {
                if (prefix.second.coefficient == nullptr) {
                  prefix_panel<false>(panel, prefix, p);
                } else {
                  prefix_panel<true>(panel, prefix, p);
                }
              });
}

void captures(const PrefixSums* rows, std::size_t count) {
  const D d;
  for (std::size_t r = 0; r < count; ++r) {
    PrefixSum sum = rows[r].first;
    sum.stored = nullptr;
    for (std::size_t c = 0; c < rows[r].captures.size(); ++c) {
      const auto capture = static_cast<Index>(c);
      const float* from = rows[r].first.stored + capture * sum.stored_stride;
      for (Index p = 0; p < rows[r].row.panels; ++p) {
        V total[C];
#pragma GCC unroll 12
        for (int v = 0; v < C; ++v) {
          total[v] = hn::LoadU(d, from + p * kPrefixColumns + v * kLanes);
        }
        capture_sum(sum, rows[r].row, total, capture, rows[r].captures[c], p);
      }
    }
  }
}

// Computes sum + sqrt(x) for x >= kTiny, to 1e-4 or better; if the estimate of 1 / sqrt(x) has 14
// bits, it is used directly.
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

// Processes one row and one panel, number `panel` of the row's.
HWY_NOINLINE void distance_strip(const float* HWY_RESTRICT gram, const PrefixDistances& prefix,
                                 Index panel) {
  const D d;
  const Index column = panel * kPrefixColumns;
  const std::uint32_t* HWY_RESTRICT member = prefix.row.member_rows;
  const float* HWY_RESTRICT coefficient = prefix.coefficient;
  const float* HWY_RESTRICT set_square = prefix.set_square;
  // w^2, which becomes -inf once a column's key is in the set, so that it adds nothing; -2 w; and
  // the context's radicand as a polynomial in k, square k^2 + linear k + constant.
  HWY_ALIGN float own[kPrefixColumns];
  HWY_ALIGN float twice[kPrefixColumns];
  HWY_ALIGN float square[kPrefixColumns];
  HWY_ALIGN float linear[kPrefixColumns];
  HWY_ALIGN float constant[kPrefixColumns];
  V p[C];
  const V total = hn::Set(d, prefix.total_square);
  const V nothing = hn::Set(d, -kInfinite);
#pragma GCC unroll 12
  for (int v = 0; v < C; ++v) {
    const Index at = column + v * kLanes;
    const M key = outside(prefix.row.rank + at, 0);
    const V w = hn::LoadU(d, prefix.weight + at);
    const V norm = hn::LoadU(d, prefix.norm + at);
    const V z = hn::LoadU(d, prefix.projection + at);
    const V lean = hn::Sub(w, z);
    hn::Store(hn::IfThenElse(key, hn::Mul(w, w), nothing), d, own + v * kLanes);
    hn::Store(hn::Mul(w, hn::Set(d, -2.0f)), d, twice + v * kLanes);
    hn::Store(hn::IfThenElseZero(key, hn::Mul(norm, norm)), d, square + v * kLanes);
    hn::Store(hn::IfThenElseZero(key, hn::Mul(hn::Add(norm, norm), lean)), d, linear + v * kLanes);
    hn::Store(hn::IfThenElse(key, hn::MulAdd(w, hn::Sub(lean, z), total), nothing), d,
              constant + v * kLanes);
    p[v] = hn::Zero(d);
  }
  const PrefixEvent* event = prefix.row.events + prefix.row.first_event[panel];
  const PrefixEvent* last = prefix.row.events + prefix.row.first_event[panel + 1];
  const V tiny = hn::Set(d, kTiny);
  int step = 0;
  while (step < prefix.steps) {
    // The member of rank `step` is in the set from this step on.
    for (; event != last && event->rank == step; ++event) own[event->column] = -kInfinite;
    const int stop = event == last ? prefix.steps : std::min<int>(prefix.steps, event->rank);
    for (; step < stop; ++step) {
      const float* HWY_RESTRICT row = gram + member[step] * kPrefixColumns;
      const V x = hn::Set(d, coefficient[step]);
      const V s2 = hn::Set(d, set_square[step]);
      const V k = hn::Set(d, prefix.spread * static_cast<float>(step + 1));
      float* to_distance = prefix.distance + step * kPrefixLanes;
      float* to_context = prefix.context + step * kPrefixLanes;
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

void distances(const PackedMatrix& gram, const PrefixDistances* rows, std::size_t count) {
  pass_panels(gram, rows, count,
              [](const float* panel, const PrefixDistances& prefix, Index p)
                  HWY_ATTR { distance_strip(panel, prefix, p); });
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(prefixes);
HWY_EXPORT(captures);
HWY_EXPORT(distances);

void sum_top_prefixes(const PackedMatrix& gram, std::span<const PrefixSums> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(prefixes)(gram, rows.data(), rows.size());
}

void capture_prefixes(std::span<const PrefixSums> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(captures)(rows.data(), rows.size());
}

void sum_prefix_distances(const PackedMatrix& gram, std::span<const PrefixDistances> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(distances)(gram, rows.data(), rows.size());
}

}  // namespace headgauge
#endif
