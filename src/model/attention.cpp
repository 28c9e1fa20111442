#include "model/attention.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/softmax.hpp"

namespace headgauge {
namespace {

constexpr Index kTileRows = 64;

}  // namespace

void attend(std::span<const HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
            ThreadPool& pool) {
  const Index length = heads.front().length();
  int kv_heads = 0;
  for (const HeadInput& head : heads) kv_heads = std::max(kv_heads, head.kv_head + 1);
  work.keys.resize(static_cast<std::size_t>(kv_heads));
  work.values.resize(static_cast<std::size_t>(kv_heads));
  work.tiles.resize(static_cast<std::size_t>(pool.threads()));
  pool.for_each(kv_heads, [&](Index kv) {
    const auto head = std::ranges::find(heads, static_cast<int>(kv), &HeadInput::kv_head);
    work.keys[static_cast<std::size_t>(kv)].assign_transposed(head->keys, head->scale);
    work.values[static_cast<std::size_t>(kv)].assign_rows(head->values);
  });
  const Index tiles = (length + kTileRows - 1) / kTileRows;
  const auto count = static_cast<Index>(heads.size());
  pool.for_each_slot(tiles * count, [&](Index i, int slot) {
    const HeadInput& head = heads[static_cast<std::size_t>(i % count)];
    const Index first = (tiles - 1 - i / count) * kTileRows;  // longest rows first
    const Index rows = std::min(kTileRows, length - first);
    const Index begin = head.visibility.range(first, length).begin;
    const Index end = head.visibility.range(first + rows - 1, length).end;
    Matrix<float>& buffer = work.tiles[static_cast<std::size_t>(slot)];
    if (buffer.cols() < length) buffer = Matrix<float>(kTileRows, length);
    const MatrixView<float> tile(buffer.data(), rows, end, buffer.cols());
    const auto kv = static_cast<std::size_t>(head.kv_head);
    gemm(head.queries.block(first, rows, 0, head.queries.cols()), work.keys[kv], tile,
         {.col_begin = begin, .col_end = end});
    for (Index r = 0; r < rows; ++r) {
      const KeyRange keys = head.visibility.range(first + r, length);
      const auto row = tile.row(r);
      const auto visible =
          row.subspan(static_cast<std::size_t>(keys.begin), static_cast<std::size_t>(keys.size()));
      if (head.softcap > 0) {
        for (float& l : visible) l = head.softcap * std::tanh(l / head.softcap);
      }
      softmax_row(visible, visible);
      std::fill(row.begin() + begin, row.begin() + keys.begin, 0.0f);
      std::fill(row.begin() + keys.end, row.end(), 0.0f);
    }
    const Index d = head.values.cols();
    gemm(tile.block(0, rows, begin, end - begin), work.values[kv],
         out.block(first, rows, head.head * d, d), {.b_row = begin});
  });
}

std::size_t attention_bytes(Index length, Index kv_heads, Index head_dim, int threads) {
  const Index packed = kv_heads * head_dim * (2 * length + 2 * PackedMatrix::kPanel);
  return sizeof(float) * static_cast<std::size_t>(packed + threads * kTileRows * length);
}

}  // namespace headgauge
