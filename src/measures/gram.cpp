#include "measures/gram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace headgauge {
namespace {

constexpr Index kGramPanel = PackedMatrix::kPanel;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kUnseen = std::numeric_limits<std::uint32_t>::max();

Index padded(Index columns) {
  return (columns + kGramPanel - 1) / kGramPanel * kGramPanel;
}

double norm_of(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * v;
  return std::sqrt(sum);
}

}  // namespace

Gram::Gram(const Vectors& x, Index length, std::size_t limit, ThreadPool& pool) {
  number_rows(x, length);
  units_ = Matrix<float>(rows(), x.dimension());
  row_norms_.resize(source_row_.size());
  pool.for_each(rows(), [&](Index r) {
    const auto from = x.rows.row(source_row(r));
    const double norm = norm_of(from);
    row_norms_[r] = norm;
    if (norm == 0.0) return;
    const auto to = units_.row(r);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i] / norm);
  });
  has_zero_ = std::ranges::find(row_norms_, 0.0) != row_norms_.end();
  norms_.assign(padded(length), 0.0f);
  for (std::size_t j = 0; j < row_of_.size(); ++j) {
    norms_[j] = static_cast<float>(row_norms_[row_of_[j]]);
  }
  const std::size_t size = rows() * padded(length) * sizeof(float);
  has_products_ = size <= limit;
  if (has_products_) {
    products_ = PackedMatrix(rows(), columns());
    pool.for_each(panels(), [&](Index p) { compute_panel(p, products_.panel(p)); });
  }
  projects_ = !has_products_ || rows() * columns() > (rows() + columns()) * dimension();
  if (projects_) {
    unit_rows_ = PackedMatrix::pack_rows(units_);
    unit_columns_ = PackedMatrix::pack_transposed(units_by_position(0, columns()));
  }
}

void Gram::number_rows(const Vectors& x, Index length) {
  std::vector<std::uint32_t> number(x.rows.rows(), kUnseen);
  row_of_.reserve(length);
  rows_before_.reserve(length + 1);
  for (Index j = 0; j < length; ++j) {
    rows_before_.push_back(rows());
    const Index from = x.row_index(j);
    std::uint32_t& row = number[from];
    if (row == kUnseen) {
      row = static_cast<std::uint32_t>(source_row_.size());
      source_row_.push_back(from);
    }
    row_of_.push_back(row);
  }
  rows_before_.push_back(rows());
}

Matrix<float> Gram::units_by_position(Index first, Index count) const {
  Matrix<float> keys(count, dimension());
  for (Index j = 0; j < count; ++j) {
    std::ranges::copy(units_.row(row_of(first + j)), keys.row(j).begin());
  }
  return keys;
}

void Gram::compute_panel(Index p, float* out) const {
  const Index first = p * kGramPanel;
  const Index width = std::min(kGramPanel, columns() - first);
  gemm(units_, PackedMatrix::pack_transposed(units_by_position(first, width)),
       {out, rows(), kGramPanel});
  // A unit vector's product with itself is 1 by definition, despite rounding.
  for (Index j = 0; j < width; ++j) {
    const std::uint32_t row = row_of(first + j);
    out[row * kGramPanel + j] = row_norms_[row] > 0.0 ? 1.0f : 0.0f;
  }
}

float Gram::product(Index row, Index position) const {
  if (!has_products_) return dot(unit(row), unit(row_of(position)));
  const Index panel = position / kGramPanel;
  return products_.panel(panel)[(row - panel) * kGramPanel + position];
}

std::size_t Gram::bytes(Index rows, Index columns, Index dimension, std::size_t limit) {
  const std::size_t products = rows * padded(columns) * sizeof(float);
  const bool kept = products <= limit;
  Index floats = rows * dimension + 4 * columns;
  if (!kept || rows * columns > (rows + columns) * dimension) {
    floats += (rows + columns) * dimension;
  }
  return (kept ? products : 0) + floats * sizeof(float);
}

namespace {

double norm_of_row(const Gram& gram, std::uint32_t row, bool unit_sphere) {
  const double norm = gram.row_norms()[row];
  return unit_sphere && norm > 0.0 ? 1.0 : norm;
}

// Computes closest[e] for e in one panel from the pairs (i, e - 1) only.
void nearest_before(const Gram& gram, Index panel, const float* products, bool unit_sphere,
                    std::span<double> closest) {
  const Index first = panel * kGramPanel;
  const Index width = std::min(kGramPanel, gram.columns() - first);
  const auto norm_of_row = [&](Index row) {
    const double norm = gram.row_norms()[row];
    return static_cast<float>(unit_sphere && norm > 0.0 ? 1.0 : norm);
  };
  float norm[kGramPanel] = {}, nearest[kGramPanel];
  std::ranges::fill(nearest, std::numeric_limits<float>::infinity());
  for (Index j = 0; j < width; ++j) norm[j] = norm_of_row(gram.row_of(first + j));
  // First the rows of positions before the panel, then those that begin in it.
  const Index before = gram.rows_before(first);
  for (Index row = 0; row < gram.rows_before(first + width); ++row) {
    const float own = norm_of_row(row);
    Index j = 0;
    if (row >= before) {
      while (j < width && gram.rows_before(first + j) <= row) ++j;
    }
    for (; j < width; ++j) {
      const float square =
          own * own + norm[j] * norm[j] - 2.0f * own * norm[j] * products[row * kGramPanel + j];
      nearest[j] = std::min(nearest[j], square);
    }
  }
  for (Index j = 0; j < width; ++j) {
    const Index position = first + j;
    const bool repeated = gram.row_of(position) < gram.rows_before(position);
    closest[position + 1] = repeated ? 0.0 : std::max(0.0f, nearest[j]);
  }
}

// Computes the same for windows: pairs among the last `window` positions.
std::vector<double> closest_in_window(const Gram& gram, Index window, bool unit_sphere) {
  const Index length = gram.columns();
  std::vector<double> closest(length + 1, kInfinite);
  // nearest[i] is the smallest distance so far from i to a later position.
  std::vector<double> nearest(length, kInfinite);
  for (Index j = 0; j < length; ++j) {
    double best = kInfinite;
    for (Index i = std::max<Index>(0, j + 1 - window); i < j; ++i) {
      const double square = squared_distance(gram, j, i, unit_sphere);
      double& near = nearest[i];
      near = std::min(near, square);
      best = std::min(best, near);
    }
    closest[j + 1] = best;
  }
  return closest;
}

}  // namespace

double squared_distance(const Gram& gram, Index i, Index j, bool unit_sphere) {
  const std::uint32_t row = gram.row_of(i), other = gram.row_of(j);
  if (row == other) return 0.0;
  const double a = norm_of_row(gram, row, unit_sphere), b = norm_of_row(gram, other, unit_sphere);
  return std::max(0.0, a * a + b * b - 2.0 * a * b * gram.product(row, j));
}

std::vector<double> closest_pairs(const Gram& gram, Index window, bool unit_sphere,
                                  ThreadPool& pool) {
  if (window > 0 && window < gram.columns()) return closest_in_window(gram, window, unit_sphere);
  std::vector<double> closest(gram.columns() + 1, kInfinite);
  pool.for_each(gram.panels(), [&](Index p) {
    if (gram.has_products()) {
      nearest_before(gram, p, gram.products().panel(p), unit_sphere, closest);
      return;
    }
    AlignedVector<float> panel(gram.rows() * kGramPanel);
    gram.compute_panel(p, panel.data());
    nearest_before(gram, p, panel.data(), unit_sphere, closest);
  });
  for (std::size_t e = 1; e < closest.size(); ++e) {
    closest[e] = std::min(closest[e], closest[e - 1]);
  }
  return closest;
}

Matrix<float> sphere_points(std::uint64_t seed, Index dimension, Index count, ThreadPool& pool) {
  Matrix<float> points(count, dimension);
  pool.for_each(count, [&](Index j) {
    std::vector<double> z(dimension);
    const RandomStream random(seed, RandomDomain::sphere_points,
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

std::vector<double> nearest_positions(const Gram& gram, bool unit_sphere, ThreadPool& pool) {
  std::vector<double> nearest(gram.columns(), std::numeric_limits<double>::infinity());
  pool.for_each(gram.columns(), [&](Index i) {
    double& best = nearest[i];
    for (Index j = 0; j < gram.columns() && best > 0.0; ++j) {
      if (j != i)
        best = std::min(best, squared_distance(gram, std::max(i, j), std::min(i, j), unit_sphere));
    }
  });
  return nearest;
}

double ClosestPair::find(const Gram& gram, std::span<const double> nearest, const Row& row,
                         bool unit_sphere) {
  keys_.resize(row.n());
  for (Index i = 0; i < row.n(); ++i) {
    keys_[i] = static_cast<std::uint32_t>(row.key(i));
  }
  std::ranges::sort(keys_, {}, [&](std::uint32_t key) { return nearest[key]; });
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < keys_.size() && nearest[keys_[i]] < best; ++i) {
    // Pairs with earlier keys were compared before.
    for (std::size_t j = i + 1; j < keys_.size() && best > 0.0; ++j) {
      const Index a = std::max(keys_[i], keys_[j]), b = std::min(keys_[i], keys_[j]);
      best = std::min(best, squared_distance(gram, a, b, unit_sphere));
    }
  }
  return best;
}

}  // namespace headgauge
