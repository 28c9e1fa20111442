// Handles rows without a visible key, and computes in float64 for normalizers that have no float32
// kernel.
#include <algorithm>
#include <limits>
#include <vector>

#include "headgauge/normalize.hpp"
#include "kernels/shares.hpp"
#include "kernels/softmax.hpp"
#include "kernels/weight_sums.hpp"

namespace headgauge {
namespace {

template <class Number>
bool sees_no_key(std::span<const Number> logits) {
  constexpr Number kHidden = -std::numeric_limits<Number>::infinity();
  return !logits.empty() && std::ranges::all_of(logits, [](Number l) { return l == kHidden; });
}

// Rounds weights to float32 and returns their sums. `weights` may be the memory of `logits`.
WeightSums round_weights(std::span<const double> exact, std::span<const float> logits,
                         std::span<float> weights) {
  thread_local std::vector<float> narrow;
  narrow.resize(exact.size());
  std::ranges::transform(exact, narrow.begin(), [](double w) { return static_cast<float>(w); });
  const WeightSums sums = sum_weights(narrow, logits);
  std::ranges::copy(std::span(narrow).first(weights.size()), weights.begin());
  return sums;
}

// Returns how many of the first rows a block takes: up to 64, and as many as fit in 64 rows of 4096
// keys, so that the memory of a block does not grow with the context; at least one.
template <class Row>
std::size_t rows_of_a_block(std::span<const Row> rows) {
  constexpr std::size_t kRows = 64, kNumbers = kRows * 4096;
  std::size_t width = 1, count = 0;
  for (const Row& row : rows) {
    width = std::max(width, row.logits.size());
    if (count == kRows || (count > 0 && (count + 1) * width > kNumbers)) break;
    ++count;
  }
  return count;
}

}  // namespace

WeightSums Normalizer::weigh(std::span<const float> logits, const RowContext& context,
                             std::span<float> weights) const {
  if (!sees_no_key(logits)) return weigh_row(logits, context, weights);
  WeightSums sums = no_weights(logits.size(), {logits.front(), logits.front()});
  sums.log_sum_exp = kUndefined;
  std::ranges::fill(weights, 0.0f);
  return sums;
}

void Normalizer::weigh(std::span<const double> logits, const RowContext& context,
                       std::span<double> weights) const {
  if (!sees_no_key(logits)) return weigh_row(logits, context, weights);
  std::ranges::fill(weights, 0.0);
}

WeightSums Normalizer::weigh_row(std::span<const float> logits, const RowContext& context,
                                 std::span<float> weights) const {
  thread_local std::vector<double> exact, out;
  exact.assign(logits.begin(), logits.end());
  out.resize(logits.size());
  weigh_row(exact, context, out);
  return round_weights(out, logits, weights);
}

void Normalizer::weigh_rows(std::span<WeighedRow> rows) const {
  if (!traits().in_blocks) {
    for (WeighedRow& row : rows) row.sums = weigh(row.logits, row.context, row.weights);
    return;
  }
  while (!rows.empty()) {
    const std::span<WeighedRow> block = rows.first(rows_of_a_block<WeighedRow>(rows));
    std::vector<std::vector<double>> logits, weights;
    std::vector<ExactRow> exact;
    for (const WeighedRow& row : block) {
      logits.emplace_back(row.logits.begin(), row.logits.end());
      weights.emplace_back(row.logits.size());
      exact.push_back({logits.back(), row.context, weights.back()});
    }
    weigh_rows(exact);
    for (std::size_t r = 0; r < block.size(); ++r) {
      WeighedRow& row = block[r];
      row.sums = sees_no_key(row.logits) ? weigh(row.logits, row.context, row.weights)
                                         : round_weights(weights[r], row.logits, row.weights);
    }
    rows = rows.subspan(block.size());
  }
}

void Normalizer::weigh_rows(std::span<const ExactRow> rows) const {
  std::vector<ExactRow> visible;
  for (const ExactRow& row : rows) {
    if (sees_no_key(row.logits)) {
      std::ranges::fill(row.weights, 0.0);
    } else {
      visible.push_back(row);
    }
  }
  for (std::span<const ExactRow> left = visible; !left.empty();) {
    const std::size_t count = rows_of_a_block<ExactRow>(left);
    weigh_block(left.first(count));
    left = left.subspan(count);
  }
}

void Normalizer::weigh_block(std::span<const ExactRow> rows) const {
  for (const ExactRow& row : rows) weigh_row(row.logits, row.context, row.weights);
}

}  // namespace headgauge
