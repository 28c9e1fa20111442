// Scores of queries and keys as the head and its normalizer want them.
#pragma once

#include <span>

#include "headgauge/heads.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

// Packs keys (n x d) so that gemm() with queries gives logits; for a normalizer that takes cosines
// (`unit`) at length 1, and divide_by_length() does the rest.
void pack_keys(MatrixView<const float> keys, float scale, bool unit, PackedMatrix& packed);

// logits / |query|; 0 for a query of length 0.
void divide_by_length(std::span<const float> query, std::span<float> logits);

// Whether the head's own normalizer takes cosines.
bool takes_unit_norms(const HeadInput& head);

// Makes logits of the products of a query with the keys from `first_key` on: the head's soft-cap,
// then its biases by position.
void finish_logits(const HeadInput& head, Index query, Index first_key, std::span<float> products);

// Each logit l becomes cap tanh(l / cap), where cap > 0: to 1e-6 of it, as cap_row() does; NaN
// where l is NaN or infinite.
void soft_cap(std::span<float> logits, float cap);

}  // namespace headgauge
