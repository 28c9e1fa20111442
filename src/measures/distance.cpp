#include "measures/distance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/top_prefix_sums.hpp"
#include "kernels/top_prefixes.hpp"

namespace headgauge {
namespace {

// A panel whose bound exceeds the best value by no more than this is not searched: bound and value
// may be the same number, rounded differently.
constexpr float kNoMore = 1.0f + 1e-6f;

}  // namespace

double distance_bound(const DistanceFacts& facts) {
  const auto outside = static_cast<double>(facts.n - facts.size);
  const double simple = facts.scaled_rest + outside * facts.set_norm;  // A4
  if (facts.selected == 0.0 || std::isnan(facts.cross)) return simple;
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
  // Columns beyond the last position are not keys.
  std::vector<std::int32_t> rank(gram.norms().size(), kNoKey);
  std::fill_n(rank.begin(), gram.columns(), kUnranked);
  for (const double norm : gram.row_norms()) {
    // Rounded as in the kernel, so that equal vectors have distance 0.
    square_.push_back(static_cast<float>(norm) * static_cast<float>(norm));
  }
  pool.for_each(gram.rows(), [&](Index i) {
    const auto norm = static_cast<float>(gram.row_norms()[i]);
    float most = -std::numeric_limits<float>::infinity();
    for (Index p = 0; p < gram.panels(); ++p) {
      const Index column = p * kPrefixColumns;
      const float* products = gram.products().panel(p) + i * kPrefixColumns;
      const float far =
          farthest_outside(products, gram.norms().data() + column, rank.data() + column, 0, norm);
      most = std::max(most, far);
      farthest_(i, p) = far;
      prefix_(i, p) = most;
    }
  });
}

void CrossDistance::begin_row(std::span<const std::uint32_t> members, Index first_panel,
                              Index panels, Scratch& scratch) const {
  scratch.first_panel = first_panel;
  scratch.member.assign(members.begin(), members.end());
  scratch.promise.resize(members.size());
  if (std::ssize(scratch.seen) < gram_->rows()) scratch.seen.assign(gram_->rows(), 0);
  const float* promised = prefix_.data() + first_panel + panels - 1;
  for (std::size_t k = 0; k < members.size(); ++k) {
    scratch.promise[k] = square_[members[k]] + promised[members[k] * prefix_.cols()];
  }
}

double CrossDistance::largest(int size, std::span<const std::int32_t> rank,
                              Scratch& scratch) const {
  const Index panels = std::ssize(rank) / kPrefixColumns;
  const PackedMatrix& products = gram_->products();
  const std::uint32_t mark = ++scratch.search;
  float best = 0.0f;
  const auto search = [&](std::uint32_t row) {
    if (scratch.seen[row] == mark) return;
    scratch.seen[row] = mark;
    const auto promise = farthest_.row(row).subspan(scratch.first_panel, panels);
    const float found = search_farthest(
        products.panel(scratch.first_panel) + row * kPrefixColumns,
        products.rows() * kPrefixColumns,
        gram_->norms().data() + scratch.first_panel * kPrefixColumns, rank.data(), promise, size,
        static_cast<float>(gram_->row_norms()[row]), best - square_[row]);
    best = std::max(best, square_[row] + found);
  };
  // Searches the member with the largest bound first, so that most others need no search.
  const std::span promise(scratch.promise.data(), size);
  search(scratch.member[std::ranges::max_element(promise) - promise.begin()]);
  for (std::size_t k = 0; k < promise.size(); ++k) {
    if (promise[k] > best * kNoMore) search(scratch.member[k]);
  }
  return std::sqrt(std::max(best, 0.0f));
}

std::size_t CrossDistance::bytes(Index rows, Index columns) {
  const Index panels = (columns + kPrefixColumns - 1) / kPrefixColumns;
  return 2 * rows * panels * sizeof(float);
}

}  // namespace headgauge
