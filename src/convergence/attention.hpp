// Softmax attention over many tokens without a matrix of scores. Keys are processed in blocks that
// fit the cache, and the sums of a row are kept relative to the largest score so far.
#pragma once

#include <Eigen/Dense>
#include <optional>
#include <stop_token>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/normalize.hpp"
#include "kernels/gemm.hpp"
#include "kernels/online_softmax.hpp"

namespace headgauge {

// Mean and covariance of attention outputs (docs/mathematics.md D5.2), and their errors.

struct Moments {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;  // population normalisation

  // Returns the moments of V y.
  Moments through(const Eigen::MatrixXd& values) const;
};

// Sums y and y y^T over rows: in float32 for 192 rows at a time, in float64 beyond.
class MomentSums {
 public:
  explicit MomentSums(Index d);
  void add(MatrixView<const float> rows);
  void merge(const MomentSums& other);
  double count() const { return count_; }
  Moments moments() const;

 private:
  double count_ = 0;
  Eigen::VectorXd sum_;
  Eigen::MatrixXd square_;
  PackedMatrix transposed_, packed_;
  Matrix<float> product_;
};

// The norm for errors of a covariance.
enum class CovarianceNorm { frobenius, spectral };
double covariance_norm(const Eigen::MatrixXd& symmetric, CovarianceNorm norm);

// Attention to tokens that are both keys and values: holds two copies, packed for the two products
// of a block. Several threads may attend at the same time.
class StreamedAttention {
 public:
  // Memory of one thread: a tile of scores, and the softmax of its queries.
  struct Scratch {
    Matrix<float> scores;
    OnlineSoftmax softmax;
  };

  void set_tokens(MatrixView<const float> tokens);

  // Computes out_i = sum_j softmax_j(<z_i, x_j>) x_j for the rows z of `queries`, m x d. The bits
  // of a row do not depend on the other rows. Returns false, with `out` invalid, if `stop` was
  // requested.
  bool attend(MatrixView<const float> queries, MatrixView<float> out, Scratch& scratch,
              const std::stop_token& stop) const;

  // Returns the bytes held for n tokens of dimension d, with one scratch.
  static std::size_t bytes(Index n, Index d);

 private:
  // A block of keys. If few value columns exceed a whole number of vectors, they are summed
  // together with the weights, because a product takes as long for them as for 16.
  struct Block {
    PackedMatrix keys;    // d x keys
    PackedMatrix values;  // keys x product_columns_
    Matrix<float> rest;   // rest columns x keys
  };

  Index product_columns_ = 0;
  std::vector<Block> blocks_;
};

// Does the same for any normalizer, row by row: a tile holds whole rows of scores.
class RowwiseAttention {
 public:
  explicit RowwiseAttention(const Normalizer& normalizer) : normalizer_(normalizer) {}
  void set_tokens(MatrixView<const float> tokens);
  bool attend(MatrixView<const float> queries, MatrixView<float> out, Matrix<float>& scores,
              const std::stop_token& stop) const;
  static std::size_t bytes(Index n, Index d);

 private:
  const Normalizer& normalizer_;
  PackedMatrix keys_, values_;
};

// Attention with softmax, or with another normalizer if given.
class TokenAttention {
 public:
  explicit TokenAttention(const Normalizer* normalizer) {
    if (normalizer != nullptr) rowwise_.emplace(*normalizer);
  }
  struct Scratch {
    StreamedAttention::Scratch streamed;
    Matrix<float> scores;
  };
  void set_tokens(MatrixView<const float> tokens) {
    rowwise_ ? rowwise_->set_tokens(tokens) : streamed_.set_tokens(tokens);
  }
  bool attend(MatrixView<const float> queries, MatrixView<float> out, Scratch& scratch,
              const std::stop_token& stop) const {
    return rowwise_ ? rowwise_->attend(queries, out, scratch.scores, stop)
                    : streamed_.attend(queries, out, scratch.streamed, stop);
  }

 private:
  StreamedAttention streamed_;
  std::optional<RowwiseAttention> rowwise_;
};

}  // namespace headgauge
