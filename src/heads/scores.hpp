// Computes the scores of queries and keys that the head and its normalizer need.
#pragma once

#include <span>

#include "headgauge/heads.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

// Packs keys (n x d) so that gemm() with queries gives logits. For a normalizer that takes cosines
// (`unit`) the keys are scaled to length 1; divide_by_length() then scales by the query's length.
void pack_keys(MatrixView<const float> keys, float scale, bool unit, PackedMatrix& packed);

// Divides logits by |query|; they become 0 for a query of length 0.
void divide_by_length(std::span<const float> query, std::span<float> logits);

// Returns whether the head's own normalizer takes cosines.
bool takes_unit_norms(const HeadInput& head);

// Turns the products of a query with the keys from `first_key` on into logits: applies the head's
// soft-cap, then adds its position biases.
void finish_logits(const HeadInput& head, Index query, Index first_key, std::span<float> products);

// Replaces each logit l by cap tanh(l / cap) if cap > 0, to 1e-6 relative, as cap_row() does; NaN
// if l is NaN or infinite.
void soft_cap(std::span<float> logits, float cap);

}  // namespace headgauge
