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

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(prefixes);
HWY_EXPORT(captures);

void sum_top_prefixes(const PackedMatrix& gram, std::span<const PrefixSums> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(prefixes)(gram, rows.data(), rows.size());
}

void capture_prefixes(std::span<const PrefixSums> rows) {
  ensure_simd_level();
  HWY_DYNAMIC_DISPATCH(captures)(rows.data(), rows.size());
}

}  // namespace headgauge
#endif
