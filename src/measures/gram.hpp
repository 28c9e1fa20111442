// The unit Gram matrix c_ij = <x_i, x_j> / (|x_i| |x_j|) between the distinct vectors (rows) and
// the positions of a text (columns), in panels of 48 columns: the products that distances and
// separability are made of, computed once for all heads that share x (docs/mathematics.md 2, 3).
// Where it would not fit in memory there are the unit vectors alone, to project sums onto.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/parallel.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

class Gram {
 public:
  Gram() = default;
  // Over the first `length` vectors of x. The matrix is left out where it would take more than
  // `limit` bytes.
  Gram(const Vectors& x, Index length, std::size_t limit, ThreadPool& pool);

  Index rows() const { return std::ssize(source_row_); }
  Index columns() const { return std::ssize(row_of_); }
  Index dimension() const { return units_.cols(); }
  Index panels() const { return (columns() + PackedMatrix::kPanel - 1) / PackedMatrix::kPanel; }
  bool has_products() const { return has_products_; }
  const PackedMatrix& products() const { return products_; }
  // For a sum of vectors Y = A U, U the unit vectors: whether (A U) U^T costs less than A (U U^T),
  // U by row and U^T by position.
  bool projects() const { return projects_; }
  const PackedMatrix& unit_rows() const { return unit_rows_; }
  const PackedMatrix& unit_columns() const { return unit_columns_; }

  // Rows are numbered by first appearance: the first `rows_before(p)` are those of positions < p.
  std::uint32_t row_of(Index position) const { return row_of_[position]; }
  std::span<const std::uint32_t> row_of() const { return row_of_; }
  Index rows_before(Index position) const { return rows_before_[position]; }
  // |x_j| by position, zero beyond the last as far as the last panel reaches; and by row.
  std::span<const float> norms() const { return norms_; }
  std::span<const double> row_norms() const { return row_norms_; }
  bool has_zero() const { return has_zero_; }
  // Whether every position has a vector of its own, so that rows are positions.
  bool all_distinct() const { return rows() == columns(); }
  float product(Index row, Index position) const;
  // Panel p of the matrix, worked out anew into `out` (rows x 48).
  void compute_panel(Index p, float* out) const;
  // x_i / |x_i| of a row; zero where x_i is.
  std::span<const float> unit(Index row) const { return units_.row(row); }
  MatrixView<const float> units() const { return units_.view(); }
  // The row of Vectors::rows that a row stands for.
  Index source_row(Index row) const { return source_row_[row]; }

  // Bytes of such a matrix.
  static std::size_t bytes(Index rows, Index columns, Index dimension, std::size_t limit);

 private:
  void number_rows(const Vectors& x, Index length);
  Matrix<float> units_by_position(Index first, Index count) const;

  std::vector<std::uint32_t> row_of_;
  std::vector<Index> rows_before_;
  std::vector<Index> source_row_;
  AlignedVector<float> norms_;
  std::vector<double> row_norms_;
  bool has_zero_ = false;
  bool has_products_ = false;
  bool projects_ = false;
  Matrix<float> units_;
  PackedMatrix products_;
  PackedMatrix unit_rows_, unit_columns_;
};

// The squared distance between two positions, on the unit sphere or between the vectors as they
// are; exactly 0 for the same vector.
double squared_distance(const Gram& gram, Index i, Index j, bool unit_sphere);

// delta^2 of Assumption 2 (docs/mathematics.md 3) by the number of positions: entry e is the
// smallest squared distance between two of the last `window` positions before e (window 0: all of
// them), infinite where there are fewer than two. On the unit sphere, or between the vectors as
// they are.
std::vector<double> closest_pairs(const Gram& gram, Index window, bool unit_sphere,
                                  ThreadPool& pool);

// z_0 .. z_{count-1}, iid uniform on the unit sphere of R^dimension, from (seed, position).
Matrix<float> sphere_points(std::uint64_t seed, Index dimension, Index count, ThreadPool& pool);

}  // namespace headgauge
