#include "capacity/gram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace headgauge {
namespace {

constexpr Index kPanel = PackedMatrix::kPanel;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();

Index padded(Index columns) {
  return (columns + kPanel - 1) / kPanel * kPanel;
}

double norm_of(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

}  // namespace

Gram::Gram(const Vectors& x, Index length, ThreadPool& pool) {
  number_rows(x, length);
  units_ = Matrix<float>(rows(), x.dimension());
  row_norms_.resize(source_row_.size());
  pool.for_each(rows(), [&](Index r) {
    const auto from = x.rows.row(source_row(r));
    const double norm = norm_of(from);
    row_norms_[static_cast<std::size_t>(r)] = norm;
    if (norm == 0.0) return;
    const auto to = units_.row(r);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i] / norm);
  });
  has_zero_ = std::ranges::find(row_norms_, 0.0) != row_norms_.end();
  norms_.assign(static_cast<std::size_t>(padded(length)), 0.0f);
  for (std::size_t j = 0; j < row_of_.size(); ++j) {
    norms_[j] = static_cast<float>(row_norms_[row_of_[j]]);
  }
  fill(pool);
}

void Gram::number_rows(const Vectors& x, Index length) {
  std::vector<std::uint32_t> number(static_cast<std::size_t>(x.rows.rows()), kUnseen);
  row_of_.reserve(static_cast<std::size_t>(length));
  rows_before_.reserve(static_cast<std::size_t>(length) + 1);
  for (Index j = 0; j < length; ++j) {
    rows_before_.push_back(rows());
    const Index from = x.row_index(j);
    std::uint32_t& row = number[static_cast<std::size_t>(from)];
    if (row == kUnseen) {
      row = static_cast<std::uint32_t>(source_row_.size());
      source_row_.push_back(from);
    }
    row_of_.push_back(row);
  }
  rows_before_.push_back(rows());
}

void Gram::fill(ThreadPool& pool) {
  products_ = PackedMatrix(rows(), columns());
  pool.for_each(panels(), [&](Index p) {
    const Index first = p * kPanel;
    const Index width = std::min(kPanel, columns() - first);
    Matrix<float> keys(width, dimension());
    for (Index j = 0; j < width; ++j) {
      std::ranges::copy(units_.row(row_of(first + j)), keys.row(j).begin());
    }
    float* panel = products_.panel(p);
    gemm(units_, PackedMatrix::pack_transposed(keys), {panel, rows(), kPanel});
    // A unit vector's product with itself is 1 by definition, whatever was rounded.
    for (Index j = 0; j < width; ++j) {
      const std::uint32_t row = row_of(first + j);
      panel[row * kPanel + j] = row_norms_[row] > 0.0 ? 1.0f : 0.0f;
    }
  });
}

std::size_t Gram::bytes(Index rows, Index columns, Index dimension) {
  const auto floats = rows * padded(columns) + rows * dimension + 4 * columns;
  return static_cast<std::size_t>(floats) * sizeof(float);
}

std::vector<double> closest_pairs(const Gram& gram, Index window, bool unit_sphere,
                                  ThreadPool& pool) {
  const Index length = gram.columns();
  const auto norm = [&](Index j) {
    const double n = gram.row_norms()[gram.row_of(j)];
    return unit_sphere ? (n > 0.0 ? 1.0 : 0.0) : n;
  };
  const auto distance2 = [&](Index i, Index j, std::uint32_t row_i) {
    if (row_i == gram.row_of(j)) return 0.0;
    const double a = norm(i), b = norm(j);
    return std::max(0.0, a * a + b * b - 2.0 * a * b * gram.product(row_i, j));
  };
  std::vector<double> closest(static_cast<std::size_t>(length) + 1, kInfinite);
  if (window > 0 && window < length) {
    // nearest[i]: the smallest distance from i to a later position so far.
    std::vector<double> nearest(static_cast<std::size_t>(length), kInfinite);
    for (Index j = 0; j < length; ++j) {
      double best = kInfinite;
      const std::uint32_t row = gram.row_of(j);
      for (Index i = std::max<Index>(0, j + 1 - window); i < j; ++i) {
        double& near = nearest[static_cast<std::size_t>(i)];
        near = std::min(near, distance2(j, i, row));
        best = std::min(best, near);
      }
      closest[static_cast<std::size_t>(j) + 1] = best;
    }
    return closest;
  }
  pool.for_each(length, [&](Index j) {
    double best = kInfinite;
    const std::uint32_t row = gram.row_of(j);
    for (Index i = 0; i < j; ++i) best = std::min(best, distance2(j, i, row));
    closest[static_cast<std::size_t>(j) + 1] = best;
  });
  for (std::size_t e = 1; e < closest.size(); ++e) {
    closest[e] = std::min(closest[e], closest[e - 1]);
  }
  return closest;
}

Matrix<float> sphere_points(std::uint64_t seed, Index dimension, Index count, ThreadPool& pool) {
  Matrix<float> points(count, dimension);
  pool.for_each(count, [&](Index j) {
    std::vector<double> z(static_cast<std::size_t>(dimension));
    const RandomStream random(seed, RandomDomain::separability_null,
                              static_cast<std::uint32_t>(dimension), static_cast<std::uint32_t>(j));
    random.normals(z);
    double sum = 0;
    for (const double v : z) sum += v * v;
    const double norm = std::sqrt(sum);
    const auto to = points.row(j);
    for (std::size_t i = 0; i < z.size(); ++i) to[i] = static_cast<float>(z[i] / norm);
  });
  return points;
}

}  // namespace headgauge
