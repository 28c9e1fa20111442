// The parts of forward passes. All process blocks of rows in parallel; a row's result does not
// depend on the number of threads.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/parallel.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

// Rows that a thread processes at a time.
inline constexpr Index kForwardRows = 64;

// Calls body(first, rows, slot) for blocks [first, first + rows) of `total` rows, in parallel.
template <class Body>
void for_row_blocks(ThreadPool& pool, Index total, const Body& body) {
  const Index blocks = (total + kForwardRows - 1) / kForwardRows;
  pool.for_each_slot(blocks, [&](Index b, int slot) {
    const Index first = b * kForwardRows;
    body(first, std::min(kForwardRows, total - first), slot);
  });
}

// Returns the bytes per number in the key-value cache of a model with weights of this type; 2 for
// quantised weights, whose caches are float16.
int cache_bytes(DType type);

// Memory for a block of rows, one per thread.
class BlockScratch {
 public:
  // Works as for_row_blocks, with scratch memory of rows x `width`: body(first, rows, scratch).
  template <class Body>
  void for_blocks(ThreadPool& pool, Index total, Index width, const Body& body) {
    blocks_.resize(static_cast<std::size_t>(pool.threads()));
    for_row_blocks(pool, total, [&](Index first, Index rows, int slot) {
      Matrix<float>& block = blocks_[slot];
      if (block.cols() < width) block = Matrix<float>(kForwardRows, width);
      body(first, rows, MatrixView<float>(block.data(), rows, width, width));
    });
  }

 private:
  std::vector<Matrix<float>> blocks_;
};

// A linear map x W + b with W packed for gemm.
struct Linear {
  PackedMatrix weight;        // in x out
  AlignedVector<float> bias;  // out, or empty
  PackedMatrix transposed;    // out x in, for reverse()
  void apply(MatrixView<const float> x, MatrixView<float> out, bool accumulate = false) const {
    gemm(x, weight, out, {.bias = bias, .accumulate = accumulate});
  }
  // Computes the gradient by x from that by the output.
  void reverse(MatrixView<const float> by_out, MatrixView<float> by_x,
               bool accumulate = false) const {
    gemm(by_out, transposed, by_x, {.accumulate = accumulate});
  }
};

// What a layer is loaded for.
enum class Loaded { forward, reverse };  // reverse: for both passes

// The smallest epsilon that a config may add to a variance; the largest is 1.
inline constexpr double kLeastEpsilon = 1e-30;

struct LayerNorm {
  AlignedVector<float> weight;
  AlignedVector<float> bias;
  double epsilon = 1e-5;
  // Computes out = (x - mean) / sqrt(var + epsilon) * weight + bias, row by row, with sums in
  // float64.
  void apply(MatrixView<const float> x, MatrixView<float> out) const;
  // Computes the gradient by x from that by the output. `by_x` may be `by_out`.
  void reverse(MatrixView<const float> x, MatrixView<const float> by_out,
               MatrixView<float> by_x) const;
};

// Root mean square norm (Zhang and Sennrich 2019).
struct RmsNorm {
  AlignedVector<float> weight;
  double epsilon = 1e-6;
  // Computes out = x / sqrt(mean(x^2) + epsilon) * weight, row by row, with sums in float64. `out`
  // may be `x`.
  void apply(MatrixView<const float> x, MatrixView<float> out) const;
  // As LayerNorm::reverse().
  void reverse(MatrixView<const float> x, MatrixView<const float> by_out,
               MatrixView<float> by_x) const;
};

// Norms the rows of a matrix, and turns the gradient by them into that by the matrix.
template <class Norm>
void norm_rows(const Norm& norm, MatrixView<const float> x, MatrixView<float> out,
               ThreadPool& pool) {
  for_row_blocks(pool, x.rows(), [&](Index first, Index rows, int) {
    norm.apply(x.block(first, rows, 0, x.cols()), out.block(first, rows, 0, x.cols()));
  });
}
template <class Norm>
void reverse_norm_rows(const Norm& norm, MatrixView<const float> x, MatrixView<float> gradient,
                       ThreadPool& pool) {
  for_row_blocks(pool, x.rows(), [&](Index first, Index rows, int) {
    const auto by = gradient.block(first, rows, 0, x.cols());
    norm.reverse(x.block(first, rows, 0, x.cols()), by, by);
  });
}

// Reads the weights of a layer, from tensors whose names begin with `prefix`.
struct WeightReader {
  // Returns the tensor of this name and shape. If it returns null, the tensor is not read.
  std::function<const TensorView*(const std::string& name, std::initializer_list<Index> shape)>
      tensor;
  std::string prefix;
  ThreadPool* pool = nullptr;  // what packs linear maps
  Loaded loaded = Loaded::forward;

  // Reads a Conv1D as Hugging Face's GPT-2 stores it: weight in x out, bias out. All reuse the
  // memory of `to`.
  void conv1d(const std::string& name, Index in, Index out, Linear& to) const;
  // Reads a torch.nn.Linear: weight out x in and, if `bias`, a bias of size out.
  void linear(const std::string& name, Index in, Index out, bool bias, Linear& to) const;
  void norm(const std::string& name, Index width, double epsilon, LayerNorm& to) const;
  // Adds `offset` to the weights.
  void norm(const std::string& name, Index width, double epsilon, float offset, RmsNorm& to) const;
};

// The tensors of the token embedding and of the output embedding: the same if they are tied.
struct TableNames {
  std::string in, out;
};
// Finds them as transformers 5 does. If the config ties them, but the file has both and they
// differ, both count; if the file has one of them, it is both.
TableNames find_tables(const Checkpoint& checkpoint, const std::string& embedding, bool tied);

inline constexpr const char* kOwnHead = "lm_head.weight, which differs from its tied embedding";
// Returns the notice of something that versions of transformers read differently.
inline std::string followed_notice(const std::string& what) {
  return what + ": read as transformers 5 does, not as transformers 4 does";
}

// Copies the rows of `from` to those of `to`, adds them, or multiplies `to` by them.
void copy_rows(MatrixView<const float> from, MatrixView<float> to);
void add_rows(MatrixView<const float> from, MatrixView<float> to);
void multiply_rows(MatrixView<const float> from, MatrixView<float> to);

// Splits queries, keys and values side by side (L x 3 heads * d) into the heads of a layer; copies
// everything else from `like`.
void split_heads(MatrixView<const float> qkv, int heads, const HeadInput& like,
                 std::vector<HeadInput>& out);

// Throws BadInputError if there are tensors PREFIX + number + "." beyond the `layers` that the
// config's `field` declares; otherwise only part of the model would be measured, without notice.
void refuse_further_layers(const Checkpoint& checkpoint, const std::string& prefix, int layers,
                           std::string_view field);

}  // namespace headgauge
