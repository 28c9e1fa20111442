#include "heads/scores.hpp"

#include <algorithm>
#include <cmath>

namespace headgauge {
namespace {

// 1 / |row|, 0 for a row of length 0.
float inverse_norm(std::span<const float> row) {
  const float norm = std::sqrt(dot(row, row));
  return norm > 0 ? 1.0f / norm : 0.0f;
}

// Each row divided by its length.
Matrix<float> unit_rows(MatrixView<const float> rows) {
  Matrix<float> unit(rows.rows(), rows.cols());
  for (Index r = 0; r < rows.rows(); ++r) {
    const float norm = std::sqrt(dot(rows.row(r), rows.row(r)));
    std::ranges::transform(rows.row(r), unit.row(r).begin(),
                           [norm](float x) { return norm > 0 ? x / norm : 0.0f; });
  }
  return unit;
}

}  // namespace

bool takes_unit_norms(const HeadInput& head, const Normalizer* fallback) {
  const Normalizer* rule = head.rule != nullptr ? head.rule : fallback;
  return rule != nullptr && rule->traits().unit_norms;
}

void pack_keys(const HeadInput& head, MatrixView<const float> keys, PackedMatrix& packed,
               const Normalizer* fallback) {
  if (takes_unit_norms(head, fallback)) {
    packed.assign_transposed(unit_rows(keys));
  } else {
    packed.assign_transposed(keys, head.scale);
  }
}

void divide_by_query(const HeadInput& head, std::span<const float> query, std::span<float> logits,
                     const Normalizer* fallback) {
  if (!takes_unit_norms(head, fallback)) return;
  const float factor = inverse_norm(query);
  for (float& l : logits) l *= factor;
}

}  // namespace headgauge
