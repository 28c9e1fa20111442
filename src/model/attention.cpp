#include "model/attention.hpp"

#include <algorithm>

#include "heads/scores.hpp"

namespace headgauge {
namespace {

constexpr Index kTileRows = 64;

}  // namespace

void attend(std::span<const HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
            ThreadPool& pool) {
  const Index length = heads.front().length();
  // Heads that share keys, and how they look at them, share a packed copy.
  std::vector<int> packed_of(heads.size());
  std::vector<const HeadInput*> distinct;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const auto same = std::ranges::find_if(distinct, [&](const HeadInput* other) {
      return other->kv_head == heads[h].kv_head &&
             takes_unit_norms(*other) == takes_unit_norms(heads[h]);
    });
    packed_of[h] = static_cast<int>(same - distinct.begin());
    if (same == distinct.end()) distinct.push_back(&heads[h]);
  }
  work.keys.resize(std::max(work.keys.size(), distinct.size()));
  work.values.resize(work.keys.size());
  work.tiles.resize(static_cast<std::size_t>(pool.threads()));
  work.rows.resize(work.tiles.size());
  pool.for_each(std::ssize(distinct), [&](Index i) {
    const HeadInput& head = *distinct[i];
    pack_keys(head.keys, head.scale, takes_unit_norms(head), work.keys[i]);
    work.values[i].assign_rows(head.values);
  });
  const Index tiles = (length + kTileRows - 1) / kTileRows;
  const auto count = std::ssize(heads);
  pool.for_each_slot(tiles * count, [&](Index i, int slot) {
    const HeadInput& head = heads[i % count];
    const auto packed = static_cast<std::size_t>(packed_of[i % count]);
    const Index first = (tiles - 1 - i / count) * kTileRows;  // longest rows first
    const Index rows = std::min(kTileRows, length - first);
    const Index begin = head.visibility.range(first, length).begin;
    const Index end = head.visibility.range(first + rows - 1, length).end;
    Matrix<float>& buffer = work.tiles[slot];
    if (buffer.cols() < length) buffer = Matrix<float>(kTileRows, length);
    const MatrixView<float> tile(buffer.data(), rows, end, buffer.cols());
    const bool unit = takes_unit_norms(head);
    const auto queries = head.queries.block(first, rows, 0, head.queries.cols());
    gemm(queries, work.keys[packed], tile, {.col_begin = begin, .col_end = end});
    for (Index r = 0; r < rows; ++r) {
      const KeyRange keys = head.visibility.range(first + r, length);
      const auto row = tile.row(r);
      const auto visible =
          row.subspan(static_cast<std::size_t>(keys.begin), static_cast<std::size_t>(keys.size()));
      if (unit) divide_by_length(queries.row(r), visible);
      finish_logits(head, first + r, keys.begin, visible);
      weigh_range(head, first + r, keys, visible, work.rows[slot]);
      std::fill(row.begin() + begin, row.begin() + keys.begin, 0.0f);
      std::fill(row.begin() + keys.end, row.end(), 0.0f);
    }
    const Index d = head.values.cols();
    gemm(tile.block(0, rows, begin, end - begin), work.values[packed],
         out.block(first, rows, head.head * d, d), {.b_row = begin});
  });
}

std::size_t attention_bytes(Index length, Index kv_heads, Index head_dim, int threads) {
  const Index packed = kv_heads * head_dim * (2 * length + 2 * PackedMatrix::kPanel);
  return sizeof(float) * static_cast<std::size_t>(packed + threads * kTileRows * length);
}

}  // namespace headgauge
