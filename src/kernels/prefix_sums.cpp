#include "kernels/prefix_sums.hpp"

#include <algorithm>
#include <cassert>

#include "kernels/simd.hpp"
#include "kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/prefix_sums.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headgauge::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, kVectorColumns>;
using V = hn::Vec<D>;

// The sums of up to 64 columns stay in registers during the loop over keys.
template <int kCount>
void add_block(const std::uint32_t* order, Index count, const float* weights,
               MatrixView<const float> vectors, Index column, float* sums) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V total[kCount];
  for (int c = 0; c < kCount; ++c) total[c] = hn::LoadU(d, sums + c * lanes);
  const float* const first = vectors.data() + column;
  const Index stride = vectors.stride();
  for (Index i = 0; i < count; ++i) {
    const std::uint32_t key = order[i];
    const V weight = hn::Set(d, weights[key]);
    const float* const vector = first + static_cast<Index>(key) * stride;
    for (int c = 0; c < kCount; ++c) {
      total[c] = hn::MulAdd(weight, hn::LoadU(d, vector + c * lanes), total[c]);
    }
  }
  for (int c = 0; c < kCount; ++c) hn::StoreU(total[c], d, sums + c * lanes);
}

void add_keys(const std::uint32_t* order, Index count, const float* weights,
              MatrixView<const float> vectors, Index column, Index columns, float* sums) {
  const auto lanes = static_cast<Index>(hn::Lanes(D()));
  while (columns > 0) {
    Index taken = 0;
    if (columns >= 8 * lanes) {
      add_block<8>(order, count, weights, vectors, column, sums);
      taken = 8 * lanes;
    } else if (columns >= 4 * lanes) {
      add_block<4>(order, count, weights, vectors, column, sums);
      taken = 4 * lanes;
    } else if (columns >= 2 * lanes) {
      add_block<2>(order, count, weights, vectors, column, sums);
      taken = 2 * lanes;
    } else {
      add_block<1>(order, count, weights, vectors, column, sums);
      taken = lanes;
    }
    column += taken;
    sums += taken;
    columns -= taken;
  }
}

float gather_row(const float* row, Index size, const std::uint32_t* index, Index count,
                 const float* factors, float* out) {
  const D d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  V sums = hn::Zero(d);
  Index i = 0;
#if HWY_TARGET == HWY_AVX3
  // Packs entries within vectors, which is several times faster than reading each by its index.
  for (; i + lanes <= size; i += lanes) {
    const V factor = hn::LoadU(d, factors + i), found = hn::LoadU(d, row + i);
    const auto kept = hn::Ne(factor, hn::Zero(d));
    sums = hn::MulAdd(factor, found, sums);
    hn::StoreU(hn::Compress(found, kept), d, out);
    const auto packed = static_cast<Index>(hn::CountTrue(d, kept));
    out += packed;
    index += packed;
    count -= packed;
  }
#else
  for (; i + lanes <= size; i += lanes) {
    sums = hn::MulAdd(hn::LoadU(d, factors + i), hn::LoadU(d, row + i), sums);
  }
#endif
  float sum = hn::GetLane(hn::SumOfLanes(d, sums));
  for (; i < size; ++i) sum += factors[i] * row[i];
  for (Index k = 0; k < count; ++k) out[k] = row[index[k]];
  return sum;
}

}  // namespace
}  // namespace headgauge::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headgauge {

HWY_EXPORT(add_keys);
HWY_EXPORT(gather_row);

void prefix_sums(std::span<const std::uint32_t> order, std::span<const float> weights,
                 MatrixView<const float> vectors, std::span<const Index> ends,
                 MatrixView<float> sums, std::span<double> masses) {
  ensure_simd_level();
  assert(vectors.cols() % kVectorColumns == 0 && sums.cols() >= vectors.cols());
  double mass = 0;
  Index begin = 0;
  for (std::size_t p = 0; p < ends.size(); ++p) {
    const auto row = sums.row(static_cast<Index>(p));
    if (p == 0) {
      std::ranges::fill(row, 0.0f);
    } else {
      std::ranges::copy(sums.row(static_cast<Index>(p) - 1), row.begin());
    }
    for (Index i = begin; i < ends[p]; ++i) mass += weights[order[i]];
    HWY_DYNAMIC_DISPATCH(add_keys)
    (order.data() + begin, ends[p] - begin, weights.data(), vectors, 0, vectors.cols(), row.data());
    masses[p] = mass;
    begin = ends[p];
  }
}

float gather(std::span<const float> row, std::span<const std::uint32_t> index,
             std::span<const float> factors, std::span<float> out) {
  ensure_simd_level();
  assert(factors.size() == row.size() && out.size() == index.size());
  return HWY_DYNAMIC_DISPATCH(gather_row)(row.data(), std::ssize(row), index.data(),
                                          std::ssize(index), factors.data(), out.data());
}

}  // namespace headgauge
#endif
