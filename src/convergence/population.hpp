// A head on all of its tokens: what attention over some of them is set against.
#pragma once

#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/normalize.hpp"
#include "headgauge/parallel.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

// The queries and keys of a context of L tokens that every query sees all of (docs/mathematics.md
// 5a): of a bidirectional head all L are both, of a causal one the first 3/4 are keys and the last
// 1/4 queries, so that no mask is needed and all are at positions the model knows. Of a head with a
// sliding window of W < L keys, the last W of the L tokens.
struct Population {
  KeyRange queries;
  KeyRange keys;
  bool alike = false;  // the same tokens
};
Population population_of(const HeadInput& head, Index length);

// Logits of queries of a head against its keys [keys.begin, keys.end), as a normalizer wants them.
class Logits {
 public:
  // The head must outlive this.
  Logits(const HeadInput& head, const Normalizer& normalizer, KeyRange keys);
  // out(r, j) = logit of query first + r and key keys.begin + j.
  void rows(Index first, Index count, MatrixView<float> out) const;

 private:
  const HeadInput& head_;
  KeyRange keys_;
  bool unit_;
  PackedMatrix packed_;
};

// The head's output on a population, and the matrices that subsamples are made from.
struct FullAttention {
  Population population;
  NormalizerTraits traits;
  // Weights over all keys (queries x keys) under a pointwise normalizer, of which a subsample only
  // needs a share; else the logits.
  Matrix<float> attention;
  Matrix<float> values;      // keys x (d + 1): the values and a column of ones
  Matrix<double> output;     // queries x d
  std::vector<double> mean;  // of the rows of `output`
  Matrix<double> covariance;
  double trace = 0;      // of the covariance
  double frobenius = 0;  // norm of the covariance
  double scale = 0;      // root of the mean squared length of the outputs
};
FullAttention full_attention(const HeadInput& head, const Normalizer& normalizer, Index length,
                             ThreadPool& pool);

}  // namespace headgauge
