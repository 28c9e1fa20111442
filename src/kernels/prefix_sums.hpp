// Sums over growing sets of keys, and selected entries of rows, for attention over a subsample of
// keys.
#pragma once

#include <cstdint>
#include <span>

#include "headgauge/base.hpp"

namespace headgauge {

// The number of columns of the vectors for prefix_sums() must be a multiple of this.
inline constexpr Index kVectorColumns = 16;

// Computes, with S_p the first ends[p] keys of `order` (ends ascending, ends.back() <=
// order.size()):
//   sums(p, :) = sum over i in S_p of weights[i] vectors(i, :),  masses[p] = sum of weights[i].
// vectors and sums have a multiple of kVectorColumns columns; `order` holds indices into weights
// and rows of vectors.
void prefix_sums(std::span<const std::uint32_t> order, std::span<const float> weights,
                 MatrixView<const float> vectors, std::span<const Index> ends,
                 MatrixView<float> sums, std::span<double> masses);

// Sets out[i] = row[index[i]], where `index` lists the places with a factor other than 0,
// ascending; returns the sum of the factors times the entries. May overwrite up to kVectorColumns
// floats beyond `out`.
float gather(std::span<const float> row, std::span<const std::uint32_t> index,
             std::span<const float> factors, std::span<float> out);

}  // namespace headgauge
