// A head on all of its tokens, as the reference for attention over some of them.
#pragma once

#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

// The queries and keys of a context of L tokens in which every query sees all keys
// (docs/mathematics.md 5a). For a bidirectional head all L tokens are both. For a causal head the
// first 3/4 are keys and the last 1/4 queries, so that no mask is needed and all positions are
// within the trained range. For a head with a sliding window of W < L keys, this applies to the
// last W of the L tokens.
struct Population {
  KeyRange queries;
  KeyRange keys;
  bool alike = false;  // queries and keys are the same tokens
};
Population population_of(const HeadInput& head, Index length);

// Logits of a head's queries against its keys [keys.begin, keys.end), as a normalizer takes them.
class Logits {
 public:
  // The head must outlive this object.
  Logits(const HeadInput& head, const Normalizer& normalizer, KeyRange keys);
  // Computes out(r, j) = logit of query first + r and key keys.begin + j.
  void rows(Index first, Index count, MatrixView<float> out) const;

 private:
  const HeadInput& head_;
  KeyRange keys_;
  bool unit_;
  PackedMatrix packed_;
};

// The head's output on a population, and the matrices from which subsamples are made.
struct FullAttention {
  Population population;
  NormalizerTraits traits;
  // Weights over all keys (queries x keys) under a pointwise normalizer, which a subsample only
  // needs to renormalise; otherwise the logits.
  Matrix<float> attention;
  Matrix<float> values;      // keys x (d + 1): the values and a column of ones
  Matrix<double> output;     // queries x d
  std::vector<double> mean;  // mean of the rows of `output`
  Matrix<double> covariance;
  double trace = 0;      // of the covariance
  double frobenius = 0;  // norm of the covariance
  double scale = 0;      // root mean square norm of the outputs
};
FullAttention full_attention(const HeadInput& head, const Normalizer& normalizer, Index length,
                             ThreadPool& pool);

}  // namespace headgauge
