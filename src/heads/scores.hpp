// Queries and keys on their way to logits, as the head's rule wants them.
#pragma once

#include <span>

#include "headgauge/heads.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

// Whether the rule that a head attends under (`fallback` where it has none of its own) takes
// cosines: then keys are packed at length 1 and logits are divided by the length of the query.
bool takes_unit_norms(const HeadInput& head, const Normalizer* fallback = nullptr);

// Packs `keys`, rows of head.keys, so that gemm() gives logits, but for divide_by_query().
void pack_keys(const HeadInput& head, MatrixView<const float> keys, PackedMatrix& packed,
               const Normalizer* fallback = nullptr);

void divide_by_query(const HeadInput& head, std::span<const float> query, std::span<float> logits,
                     const Normalizer* fallback = nullptr);

}  // namespace headgauge
