#include "capacity/distance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace headgauge {
namespace {

// A panel that promises no more than this above what was found is not searched: the promise and
// the find are the same number, rounded differently.
constexpr float kNoMore = 1.0f + 1e-6f;

std::size_t at(Index i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

double distance_bound(const DistanceFacts& facts) {
  const auto outside = static_cast<double>(facts.n - facts.size);
  const double simple = facts.scaled_rest + outside * facts.set_norm;  // A4
  if (facts.is_signed || facts.selected == 0.0) return simple;
  // A3; abar - a_i >= 0 for every i outside a top-N set.
  const double spread = outside * facts.selected - facts.rest;
  return std::min(simple, facts.rest * facts.cross + facts.largest_norm * spread);
}

double distance_bound_paper(const DistanceFacts& facts) {
  const auto outside = static_cast<double>(facts.n - facts.size);
  const double rest = 1.0 - facts.selected;
  return rest * facts.cross + facts.largest_norm * (facts.selected * outside - rest);
}

CrossDistance::CrossDistance(const Gram& gram, ThreadPool& pool)
    : gram_(&gram), farthest_(gram.rows(), gram.panels()), prefix_(gram.rows(), gram.panels()) {
  // Columns beyond the last position are no keys.
  std::vector<std::int32_t> rank(gram.norms().size(), kNoKey);
  std::fill_n(rank.begin(), gram.columns(), kUnranked);
  pool.for_each(gram.rows(), [&](Index i) {
    const auto norm = static_cast<float>(gram.row_norms()[at(i)]);
    float most = -std::numeric_limits<float>::infinity();
    for (Index p = 0; p < gram.panels(); ++p) {
      const Index column = p * kWalkColumns;
      const float* products = gram.products().panel(p) + i * kWalkColumns;
      const float far =
          farthest_outside(products, gram.norms().data() + column, rank.data() + column, 0, norm);
      most = std::max(most, far);
      farthest_(i, p) = far;
      prefix_(i, p) = most;
    }
  });
}

double CrossDistance::largest(std::span<const std::uint32_t> members, int size,
                              std::span<const std::int32_t> rank, Index first_panel,
                              Scratch& scratch) const {
  const Index panels = static_cast<Index>(rank.size()) / kWalkColumns;
  const Index last = first_panel + panels - 1;
  const auto own = [&](std::uint32_t row) {
    const auto norm = static_cast<float>(gram_->row_norms()[row]);
    return norm * norm;  // rounded as the kernel rounds it: equal vectors are at distance 0
  };
  float best = 0.0f;
  const auto search = [&](std::uint32_t row) {
    const auto norm = static_cast<float>(gram_->row_norms()[row]);
    for (Index p = first_panel; p <= last; ++p) {
      if (own(row) + farthest_(row, p) <= best * kNoMore) continue;
      const Index column = (p - first_panel) * kWalkColumns;
      const float far = farthest_outside(gram_->products().panel(p) + row * kWalkColumns,
                                         gram_->norms().data() + p * kWalkColumns,
                                         rank.data() + column, size, norm);
      best = std::max(best, own(row) + far);
    }
  };
  // The most promising member first, so that most others need not be searched.
  std::uint32_t first = members[0];
  float promise = -std::numeric_limits<float>::infinity();
  for (int k = 0; k < size; ++k) {
    const float value = own(members[at(k)]) + prefix_(members[at(k)], last);
    if (value > promise) {
      promise = value;
      first = members[at(k)];
    }
  }
  if (scratch.seen.size() < at(gram_->rows())) scratch.seen.assign(at(gram_->rows()), 0);
  const std::uint32_t mark = ++scratch.search;
  search(first);
  scratch.seen[first] = mark;
  for (int k = 0; k < size; ++k) {
    const std::uint32_t row = members[at(k)];
    if (own(row) + prefix_(row, last) <= best * kNoMore || scratch.seen[row] == mark) continue;
    scratch.seen[row] = mark;
    search(row);
  }
  return std::sqrt(std::max(best, 0.0f));
}

std::size_t CrossDistance::bytes(Index rows, Index columns) {
  const Index panels = (columns + kWalkColumns - 1) / kWalkColumns;
  return at(2 * rows * panels) * sizeof(float);
}

}  // namespace headgauge
