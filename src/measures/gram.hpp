// The unit Gram matrix c_ij = <x_i, x_j> / (|x_i| |x_j|) between the distinct vectors (rows) and
// the positions of a text (columns), in panels of 48 columns. Distances and separability use these
// products, which are computed once for all heads that share x (docs/mathematics.md 2, 3). If the
// matrix does not fit in memory, only the unit vectors are kept, and sums are projected onto them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/parallel.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {

class Gram {
 public:
  Gram() = default;
  // Uses the first `length` vectors of x. Leaves out the matrix if it takes more than `limit`
  // bytes.
  Gram(const Vectors& x, Index length, std::size_t limit, ThreadPool& pool);

  Index rows() const { return std::ssize(source_row_); }
  Index columns() const { return std::ssize(row_of_); }
  Index dimension() const { return units_.cols(); }
  Index panels() const { return (columns() + PackedMatrix::kPanel - 1) / PackedMatrix::kPanel; }
  bool has_products() const { return has_products_; }
  const PackedMatrix& products() const { return products_; }
  // Returns whether, for sums of vectors Y = A U with unit vectors U, (A U) U^T costs less than A
  // (U U^T), where U is by row and U^T by position.
  bool projects() const { return projects_; }
  const PackedMatrix& unit_rows() const { return unit_rows_; }
  const PackedMatrix& unit_columns() const { return unit_columns_; }

  // Rows are numbered by first appearance: the first `rows_before(p)` rows appear at positions < p.
  std::uint32_t row_of(Index position) const { return row_of_[position]; }
  std::span<const std::uint32_t> row_of() const { return row_of_; }
  Index rows_before(Index position) const { return rows_before_[position]; }
  // Return |x_j| by position, with zeros up to the end of the last panel, and by row.
  std::span<const float> norms() const { return norms_; }
  std::span<const double> row_norms() const { return row_norms_; }
  bool has_zero() const { return has_zero_; }
  // Returns whether every position has its own vector, so that rows are positions.
  bool all_distinct() const { return rows() == columns(); }
  float product(Index row, Index position) const;
  // Computes panel p of the matrix into `out` (rows x 48).
  void compute_panel(Index p, float* out) const;
  // Returns x_i / |x_i| of a row; zero if x_i is zero.
  std::span<const float> unit(Index row) const { return units_.row(row); }
  MatrixView<const float> units() const { return units_.view(); }
  // Returns the row of Vectors::rows for a row of the matrix.
  Index source_row(Index row) const { return source_row_[row]; }

  // Returns the memory that a Gram object of this size takes, in bytes.
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

// The Gram matrix of the head that is measured, for all measures that use it.
class SharedGram {
 public:
  // Returns the number of the matrix of these vectors; 0 if another one is there, or none, or if
  // the vectors have no key.
  int number_of(const Vectors& x, Index length) const {
    return gram_ && x.key != 0 && length == length_ && x.key == key_ ? number_ : 0;
  }
  // Returns that matrix, always at the same place. Builds it if it is not there; the one before
  // goes first, because two may not fit in memory.
  const Gram& of(const Vectors& x, Index length, std::size_t limit, ThreadPool& pool) {
    if (number_of(x, length) == 0) {
      gram_.reset();
      gram_.emplace(x, length, limit, pool);
      key_ = x.key;
      length_ = length;
      ++number_;
    }
    return *gram_;
  }

 private:
  std::optional<Gram> gram_;
  std::uint64_t key_ = 0;
  Index length_ = 0;
  int number_ = 0;
};

// Returns the squared distance between two positions, on the unit sphere or between the unscaled
// vectors; exactly 0 for the same vector.
double squared_distance(const Gram& gram, Index i, Index j, bool unit_sphere);

// Computes delta^2 of Assumption 2 (docs/mathematics.md 3) by the number of positions: entry e is
// the smallest squared distance between two of the last `window` positions before e (window 0: all
// positions), infinite if there are fewer than two. Uses the unit sphere or the unscaled vectors.
std::vector<double> closest_pairs(const Gram& gram, Index window, bool unit_sphere,
                                  ThreadPool& pool);

// Draws z_0 .. z_{count-1}, iid uniform on the unit sphere of R^dimension, from (seed, position).
Matrix<float> sphere_points(std::uint64_t seed, Index dimension, Index count, ThreadPool& pool);

// delta^2 of Assumption 2 (docs/mathematics.md 3) for rows whose mask hides keys: the smallest
// squared distance between two of the kept keys. A table by position cannot hold it.

// Computes the squared distance from every position to its nearest other position, on the unit
// sphere or between the unscaled vectors.
std::vector<double> nearest_positions(const Gram& gram, bool unit_sphere, ThreadPool& pool);

class ClosestPair {
 public:
  // Returns the exact distance; infinite if the row has fewer than two keys. `nearest` comes from
  // nearest_positions(): a key is skipped if its nearest position is no closer than the best pair
  // so far.
  double find(const Gram& gram, std::span<const double> nearest, const Row& row, bool unit_sphere);

 private:
  std::vector<std::uint32_t> keys_;
};

}  // namespace headgauge
