#include "measures/sampled.hpp"

#include <algorithm>

#include "kernels/top_prefix_sums.hpp"

namespace headgauge {
namespace {

constexpr int kBatch = 16;  // draws that are multiplied with the Gram matrix together

}  // namespace

// Draws the first `largest` keys of a random order of the row's keys (Fisher and Yates).
void SampledDistances::shuffle(const SelectionBlock::Line& line, const Gram& gram, int largest,
                               std::uint32_t number, const RandomStream& random, Draw& to) {
  order_.resize(line.n);
  for (Index i = 0; i < line.n; ++i) order_[i] = static_cast<std::uint32_t>(line.column(i));
  to.columns.resize(largest);
  to.rows.resize(largest);
  to.weights.resize(largest);
  to.rank.assign(line.rank.size(), kNoKey);
  for (const std::uint32_t column : order_) to.rank[column] = kUnranked;
  const auto blocks = static_cast<std::uint32_t>((largest + 1) / 2);
  const Index first = line.first_column();
  for (int k = 0; k < largest; ++k) {
    const auto uniforms = random.uniforms(number * blocks + static_cast<std::uint32_t>(k / 2));
    const auto left = static_cast<double>(line.n - k);
    const auto pick = static_cast<Index>(uniforms[k % 2] * left);
    std::swap(order_[k], order_[k + std::min(pick, line.n - k - 1)]);
    const std::uint32_t column = order_[k];
    to.columns[k] = column;
    to.rows[k] = gram.row_of(first + column);
    to.weights[k] = line.scaled[column];
    to.rank[column] = k;
  }
}

std::span<const SampledDistances::Estimate> SampledDistances::draw(const SelectionBlock::Line& line,
                                                                   const Gram& gram,
                                                                   std::span<const int> sizes,
                                                                   int draws,
                                                                   const RandomStream& random) {
  const Index columns = line.columns();
  const Index count = std::ssize(sizes);
  batch_.resize(kBatch);
  stored_.resize(kBatch * count * columns);
  no_events_.assign(line.panels + 1, 0);
  std::vector<double> sums(sizes.size(), 0.0), squares(sizes.size(), 0.0);
  for (int first = 0; first < draws; first += kBatch) {
    const int drawn = std::min(kBatch, draws - first);
    prefixes_.clear();
    for (int b = 0; b < drawn; ++b) {
      Draw& one = batch_[b];
      shuffle(line, gram, sizes.back(), static_cast<std::uint32_t>(first + b), random, one);
      PrefixSums prefix;
      prefix.row = {line.first_panel, line.panels,       one.rows.data(),
                    nullptr,          no_events_.data(), one.rank.data()};
      prefix.captures = sizes;
      prefix.first.coefficient = one.weights.data();
      prefix.first.stored = stored_.data() + b * count * columns;
      prefix.first.stored_stride = columns;
      prefixes_.push_back(prefix);
    }
    sum_top_prefixes(gram.products(), prefixes_);
    for (int b = 0; b < drawn; ++b) {
      const Draw& one = batch_[b];
      for (Index s = 0; s < count; ++s) {
        const std::span<const float> sum(stored_.data() + (b * count + s) * columns, columns);
        double square = 0;
        for (int k = 0; k < sizes[s]; ++k) {
          square += static_cast<double>(one.weights[k]) * sum[one.columns[k]];
        }
        const double distance = sum_distances(line.scaled, one.rank, sum, sizes[s],
                                              static_cast<float>(std::max(square, 0.0)));
        sums[s] += distance;
        squares[s] += distance * distance;
      }
    }
  }
  estimates_.clear();
  for (std::size_t s = 0; s < sizes.size(); ++s) {
    const auto n = static_cast<double>(draws);
    const double mean = sums[s] / n;
    const double spread = std::max(squares[s] / n - mean * mean, 0.0);
    estimates_.push_back({mean, draws > 1 ? spread / (n - 1.0) : 0.0});
  }
  return estimates_;
}

}  // namespace headgauge
