#include "model/mixed_attention.hpp"

#include <algorithm>

#include "heads/masked_row.hpp"
#include "heads/scores.hpp"
#include "kernels/softmax.hpp"

namespace headgauge {
namespace {

constexpr Index kMixedRows = 64;
// The rows of a head are computed in this many parts, so that threads share few heads evenly. Each
// part has sums of its own, which are added in order.
constexpr Index kStripes = 2;

void transpose(MatrixView<const float> from, MatrixView<float> to) {
  constexpr Index kBlock = 16;
  for (Index r = 0; r < from.rows(); r += kBlock) {
    for (Index c = 0; c < from.cols(); c += kBlock) {
      const Index rows = std::min(kBlock, from.rows() - r),
                  cols = std::min(kBlock, from.cols() - c);
      for (Index j = 0; j < cols; ++j) {
        for (Index i = 0; i < rows; ++i) to(c + j, r + i) = from(r + i, c + j);
      }
    }
  }
}

void reserve(Matrix<float>& matrix, Index rows, Index cols) {
  if (matrix.rows() < rows || matrix.cols() < cols) matrix = Matrix<float>(rows, cols);
}

std::span<float> resized(std::vector<float>& values, Index size) {
  values.resize(static_cast<std::size_t>(size));
  return values;
}

}  // namespace

// Consecutive queries of one head.
struct MixedAttention::Tile {
  const MixedHeads& heads;
  const PackedKeys& packed;
  std::size_t head;
  Index first, rows;
  const HeadInput& own() const { return heads.choices.front()[head]; }
  Index length() const { return own().length(); }
  KeyRange keys(Index row) const { return own().visibility.range(first + row, length()); }
  Index begin() const { return keys(0).begin; }
  Index end() const { return keys(rows - 1).end; }
};

void MixedAttention::pack(const std::vector<HeadInput>& heads, bool reversed, ThreadPool& pool) {
  packed_.resize(std::max(packed_.size(), static_cast<std::size_t>(heads.back().kv_head + 1)));
  scratch_.resize(static_cast<std::size_t>(pool.threads()));
  pool.for_each(heads.back().kv_head + 1, [&](Index kv_head) {
    const auto of_group = [&](const HeadInput& head) { return head.kv_head == kv_head; };
    const HeadInput& head = *std::ranges::find_if(heads, of_group);
    PackedKeys& packed = packed_[static_cast<std::size_t>(kv_head)];
    packed.scored.assign_transposed(head.keys, head.scale);
    packed.values.assign_rows(head.values);
    if (!reversed) return;
    packed.keys.assign_rows(head.keys);
    packed.transposed_values.assign_transposed(head.values);
  });
}

void MixedAttention::make_logits(const Tile& tile, Scratch& scratch) const {
  reserve(scratch.logits, kMixedRows, tile.length());
  const HeadInput& head = tile.own();
  const auto logits = scratch.logits.view().block(0, tile.rows, 0, tile.end());
  gemm(head.queries.block(tile.first, tile.rows, 0, head.queries.cols()), tile.packed.scored,
       logits, {.col_begin = tile.begin(), .col_end = tile.end()});
  for (Index r = 0; r < tile.rows; ++r) {
    const KeyRange keys = tile.keys(r);
    const auto row = logits.row(r).subspan(static_cast<std::size_t>(keys.begin),
                                           static_cast<std::size_t>(keys.size()));
    finish_logits(head, tile.first + r, keys.begin, row);
  }
}

// Turns the logits of a row into weights that are mixed by the gates. With `partial`, also turns
// the gradient by the weights into that by the products of query and keys, and adds that by the
// gates: of each choice, the sum of weights times their gradient.
void MixedAttention::mix_row(const Tile& tile, Index row, Scratch& scratch,
                             Partial* partial) const {
  const KeyRange range = tile.keys(row);
  const auto part = [&](Matrix<float>& all) {
    return all.row(row).subspan(static_cast<std::size_t>(range.begin),
                                static_cast<std::size_t>(range.size()));
  };
  const std::span<float> logits = part(scratch.logits);
  const std::span<float> by_weights = partial != nullptr ? part(scratch.by_weights) : logits;
  const auto mixed = resized(scratch.mixed, range.size());
  const auto by_logits = resized(scratch.by_logits, range.size());
  std::ranges::fill(mixed, 0.0f);
  std::ranges::fill(by_logits, 0.0f);
  for (std::size_t c = 0; c < tile.heads.choices.size(); ++c) {
    const HeadInput& head = tile.heads.choices[c][tile.head];
    const auto gate = static_cast<float>(tile.heads.gates[tile.head][c]);
    if (partial == nullptr && gate == 0) continue;
    const KeptKeys kept = select_keys(head, tile.first + row, range, logits, scratch.positions);
    const bool gathers = !kept.positions.empty();
    const Index count = gathers ? std::ssize(kept.positions) : kept.keys.size();
    const auto at = [&](Index i) {
      return static_cast<std::size_t>(
          (gathers ? kept.positions[static_cast<std::size_t>(i)] : kept.keys.begin + i) -
          range.begin);
    };
    const auto of_kept = [&](std::span<float> all, std::vector<float>& gathered) {
      if (!gathers) return all.subspan(at(0), static_cast<std::size_t>(count));
      const auto to = resized(gathered, count);
      for (Index i = 0; i < count; ++i) to[static_cast<std::size_t>(i)] = all[at(i)];
      return to;
    };
    const std::span<const float> seen = of_kept(logits, scratch.kept);
    const auto weights = resized(scratch.weights, count);
    const RowContext context{count, tile.first + row};
    const auto scale = head.normalizer == nullptr ? 1.0 : head.normalizer->softmax_scale(context);
    if (scale) {
      softmax_row(seen, weights, static_cast<float>(*scale));
    } else {
      head.normalizer->weigh(seen, context, weights);
    }
    // The sums below run over kept keys; without gathering, they are ranges.
    const auto add = [&](std::span<float> to, const auto& value) {
      if (gathers) {
        for (Index i = 0; i < count; ++i) to[at(i)] += value(static_cast<std::size_t>(i));
      } else {
        float* const begin = to.data() + at(0);
        for (Index i = 0; i < count; ++i) begin[i] += value(static_cast<std::size_t>(i));
      }
    };
    add(mixed, [&](std::size_t i) { return gate * weights[i]; });
    if (partial == nullptr) continue;
    const std::span<const float> by = of_kept(by_weights, scratch.gathered);
    const float mean = dot(weights, by);
    partial->gates[c] += mean;
    if (gate == 0) continue;
    if (scale) {
      const auto factor = static_cast<float>(gate * *scale);
      add(by_logits, [&](std::size_t i) { return factor * weights[i] * (by[i] - mean); });
      continue;
    }
    scratch.exact.assign(seen.begin(), seen.end());
    scratch.by_exact.assign(by.begin(), by.end());
    scratch.result.resize(seen.size());
    head.normalizer->vjp(scratch.exact, context, scratch.by_exact, scratch.result);
    add(by_logits, [&](std::size_t i) { return gate * static_cast<float>(scratch.result[i]); });
  }
  if (partial != nullptr) {
    const float cap = tile.own().softcap;
    for (std::size_t i = 0; i < by_logits.size(); ++i) {
      const float share = cap > 0 ? logits[i] / cap : 0.0f;  // c tanh(l / c) has slope 1 - tanh^2
      by_weights[i] = by_logits[i] * (1.0f - share * share);
    }
  }
  std::ranges::copy(mixed, logits.begin());
  const auto hide = [&](Matrix<float>& all) {
    std::fill(all.row(row).begin() + tile.begin(), all.row(row).begin() + range.begin, 0.0f);
    std::fill(all.row(row).begin() + range.end, all.row(row).begin() + tile.end(), 0.0f);
  };
  hide(scratch.logits);
  if (partial != nullptr) hide(scratch.by_weights);
}

void MixedAttention::attend(const MixedHeads& heads, MatrixView<float> out, ThreadPool& pool) {
  const std::vector<HeadInput>& own = heads.choices.front();
  pack(own, false, pool);
  const Index length = own.front().length(), count = std::ssize(own);
  const Index tiles = (length + kMixedRows - 1) / kMixedRows;
  pool.for_each_slot(tiles * count, [&](Index i, int slot) {
    const auto h = static_cast<std::size_t>(i % count);
    const Index first = (tiles - 1 - i / count) * kMixedRows;  // longest rows first
    const Tile tile{heads, packed_[static_cast<std::size_t>(own[h].kv_head)], h, first,
                    std::min(kMixedRows, length - first)};
    Scratch& scratch = scratch_[static_cast<std::size_t>(slot)];
    make_logits(tile, scratch);
    for (Index r = 0; r < tile.rows; ++r) mix_row(tile, r, scratch, nullptr);
    const Index d = own[h].values.cols(), begin = tile.begin();
    gemm(std::as_const(scratch.logits).view().block(0, tile.rows, begin, tile.end() - begin),
         tile.packed.values, out.block(first, tile.rows, own[h].head * d, d), {.b_row = begin});
  });
}

void MixedAttention::reverse_tile(const Tile& tile, MatrixView<const float> by_out,
                                  MatrixView<float> by_queries, Scratch& scratch,
                                  Partial& partial) const {
  make_logits(tile, scratch);
  reserve(scratch.by_weights, kMixedRows, tile.length());
  reserve(scratch.transposed, tile.length(), kMixedRows);
  const Index begin = tile.begin(), end = tile.end(), keys = end - begin;
  gemm(by_out, tile.packed.transposed_values, scratch.by_weights.view().block(0, tile.rows, 0, end),
       {.col_begin = begin, .col_end = end});
  for (Index r = 0; r < tile.rows; ++r) mix_row(tile, r, scratch, &partial);
  const auto weights = std::as_const(scratch.logits).view().block(0, tile.rows, begin, keys);
  const auto by_products =
      std::as_const(scratch.by_weights).view().block(0, tile.rows, begin, keys);
  const auto transposed = scratch.transposed.view().block(0, keys, 0, tile.rows);
  const HeadInput& head = tile.own();
  const Index d = head.queries.cols();
  // The products are scale * <q, k>.
  gemm(by_products, tile.packed.keys, by_queries, {.b_row = begin});
  for (Index r = 0; r < tile.rows; ++r) {
    for (float& by : by_queries.row(r)) by *= head.scale;
  }
  transpose(by_products, transposed);
  scratch.queries.assign_rows(head.queries.block(tile.first, tile.rows, 0, d));
  gemm(transposed, scratch.queries, partial.keys.view().block(begin, keys, 0, d),
       {.accumulate = true});
  transpose(weights, transposed);
  scratch.by_out.assign_rows(by_out);
  gemm(transposed, scratch.by_out, partial.values.view().block(begin, keys, 0, by_out.cols()),
       {.accumulate = true});
}

void MixedAttention::reverse(const MixedHeads& heads, MatrixView<const float> by_out,
                             MatrixView<float> by_heads, std::vector<std::vector<double>>& by_gates,
                             ThreadPool& pool) {
  const std::vector<HeadInput>& own = heads.choices.front();
  pack(own, true, pool);
  const Index length = own.front().length(), count = std::ssize(own);
  const Index d = own.front().queries.cols();
  const Index tiles = (length + kMixedRows - 1) / kMixedRows;
  partials_.resize(static_cast<std::size_t>(kStripes * count));
  pool.for_each_slot(kStripes * count, [&](Index i, int slot) {
    const auto h = static_cast<std::size_t>(i / kStripes);
    const HeadInput& head = own[h];
    Partial& partial = partials_[static_cast<std::size_t>(i)];
    partial.keys = Matrix<float>(length, d);
    partial.values = Matrix<float>(length, d);
    partial.gates.assign(heads.choices.size(), 0.0);
    for (Index t = i % kStripes; t < tiles; t += kStripes) {
      const Index first = t * kMixedRows, rows = std::min(kMixedRows, length - first);
      const Tile tile{heads, packed_[static_cast<std::size_t>(head.kv_head)], h, first, rows};
      reverse_tile(tile, by_out.block(first, rows, head.head * d, d),
                   by_heads.block(first, rows, head.head * d, d),
                   scratch_[static_cast<std::size_t>(slot)], partial);
    }
  });
  const Index kv_heads = own.back().kv_head + 1;
  pool.for_each(kv_heads, [&](Index kv_head) {
    const auto keys = by_heads.block(0, length, (count + kv_head) * d, d);
    const auto values = by_heads.block(0, length, (count + kv_heads + kv_head) * d, d);
    for (Index r = 0; r < length; ++r) {
      std::ranges::fill(keys.row(r), 0.0f);
      std::ranges::fill(values.row(r), 0.0f);
      for (Index i = 0; i < kStripes * count; ++i) {
        const HeadInput& head = own[static_cast<std::size_t>(i / kStripes)];
        if (head.kv_head != kv_head) continue;
        const Partial& partial = partials_[static_cast<std::size_t>(i)];
        for (Index k = 0; k < d; ++k) {
          keys(r, k) += head.scale * partial.keys(r, k);
          values(r, k) += partial.values(r, k);
        }
      }
    }
  });
  by_gates.assign(own.size(), std::vector<double>(heads.choices.size()));
  for (Index i = 0; i < kStripes * count; ++i) {
    const Partial& partial = partials_[static_cast<std::size_t>(i)];
    for (std::size_t c = 0; c < partial.gates.size(); ++c) {
      by_gates[static_cast<std::size_t>(i / kStripes)][c] += partial.gates[c];
    }
  }
}

}  // namespace headgauge
