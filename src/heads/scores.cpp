#include "heads/scores.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/pointwise.hpp"

namespace headgauge {
namespace {

// Divides each row by its length.
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

void pack_keys(MatrixView<const float> keys, float scale, bool unit, PackedMatrix& packed) {
  if (unit) {
    packed.assign_transposed(unit_rows(keys));
  } else {
    packed.assign_transposed(keys, scale);
  }
}

void divide_by_length(std::span<const float> query, std::span<float> logits) {
  const float norm = std::sqrt(dot(query, query));
  const float factor = norm > 0 ? 1.0f / norm : 0.0f;
  for (float& l : logits) l *= factor;
}

bool takes_unit_norms(const HeadInput& head) {
  return head.normalizer != nullptr && head.normalizer->traits().unit_norms;
}

void finish_logits(const HeadInput& head, Index query, Index first_key, std::span<float> products) {
  soft_cap(products, head.softcap);
  if (head.position_bias.empty()) return;
  const Index own = std::ssize(head.position_bias) / 2;
  const float* bias = head.position_bias.data() + (own + first_key - query);
  for (float& logit : products) logit += *bias++;
}

void soft_cap(std::span<float> logits, float cap) {
  if (cap > 0) cap_row(logits, cap, logits);
}

}  // namespace headgauge
