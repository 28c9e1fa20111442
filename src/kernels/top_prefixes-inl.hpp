// Compiled per target: the vectors of a panel, and the pass of rows over panels. Include after
// hwy/highway.h, inside foreach_target.

// NOLINTBEGIN(llvm-header-guard)
#if defined(HEADGAUGE_WALK_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADGAUGE_WALK_TOGGLE
#undef HEADGAUGE_WALK_TOGGLE
#else
#define HEADGAUGE_WALK_TOGGLE
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/targets.hpp"
#include "kernels/top_prefixes.hpp"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
// Several files include this; each has its own copy.
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr float kInfinite = std::numeric_limits<float>::infinity();

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
constexpr int C = kPrefixColumns / kLanes;

// Selects columns whose key is outside the set of `size`.
HWY_INLINE M outside(const std::int32_t* rank, int size) {
  const DI di;
  return hn::RebindMask(D(), hn::Gt(hn::LoadU(di, rank), hn::Set(di, size - 1)));
}

// Returns one past the last panel of the rows.
template <class Prefix>
HWY_INLINE Index end_panel(const Prefix* rows, std::size_t count) {
  Index end = 0;
  for (std::size_t r = 0; r < count; ++r) {
    end = std::max(end, rows[r].row.first_panel + rows[r].row.panels);
  }
  return end;
}

// Processes all rows while a panel is in the cache.
template <class Prefix, class Pass>
HWY_INLINE void pass_panels(const PackedMatrix& gram, const Prefix* rows, std::size_t count,
                            const Pass& pass) {
  const Index end = end_panel(rows, count);
  for (Index panel = 0; panel < end; ++panel) {
    for (std::size_t r = 0; r < count; ++r) {
      const Index p = panel - rows[r].row.first_panel;
      if (p >= 0 && p < rows[r].row.panels) pass(gram.panel(panel), rows[r], p);
    }
  }
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
// NOLINTEND(llvm-header-guard)
