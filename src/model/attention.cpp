#include "model/attention.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "heads/scores.hpp"

namespace headgauge {
namespace {

constexpr Index kTileRows = 128;
constexpr Index kWholeRows = 64;  // rows of a tile that holds whole rows
// A block, packed twice, and a tile of scores take an eighth of a 2 MiB L2 cache at d = 64.
constexpr Index kKeyBlock = 5 * PackedMatrix::kPanel;
constexpr float kHidden = -std::numeric_limits<float>::infinity();  // logit of a hidden key

// Returns the factor for the logits of a row if its weights are their softmax.
std::optional<double> softmax_scale(const HeadInput& head, const RowContext& context) {
  return head.normalizer == nullptr ? 1.0 : head.normalizer->softmax_scale(context);
}

// Returns whether the head's rows can be computed in blocks of keys.
bool streams(const HeadInput& head) {
  const KeyMask* mask = head.visibility.mask();
  return softmax_scale(head, {1, 0}).has_value() && (mask == nullptr || !mask->needs_logits());
}

// A tile of consecutive queries of one head.
struct QueryTile {
  const HeadInput& head;
  const PackedHead& packed;
  Index length;
  Index first;
  Index rows;
  MatrixView<const float> logits = {};  // logits of the rows, if they are already scored
  KeyRange keys(Index r) const { return head.visibility.range(first + r, length); }
  MatrixView<const float> queries() const {
    return head.queries.block(first, rows, 0, head.queries.cols());
  }
  // Returns the head's columns.
  MatrixView<float> of(MatrixView<float> out) const {
    const Index d = head.values.cols();
    return out.block(first, rows, head.head * d, d);
  }
};

void begin_rows(const QueryTile& tile, AttentionScratch& scratch) {
  scratch.rows.resize(std::max(scratch.rows.size(), static_cast<std::size_t>(tile.rows)));
  for (Index r = 0; r < tile.rows; ++r) {
    AttendedRow& row = scratch.rows[static_cast<std::size_t>(r)];
    row.keys = tile.keys(r);
    row.positions.clear();
    Index n = row.keys.size();
    if (tile.head.visibility.mask() != nullptr) {
      const KeptKeys kept =
          select_keys(tile.head, tile.first + r, row.keys, {}, scratch.range.positions);
      row.keys = kept.keys;
      row.positions.assign(kept.positions.begin(), kept.positions.end());
      n = kept.positions.empty() ? kept.keys.size() : std::ssize(kept.positions);
    }
    row.scale = static_cast<float>(*softmax_scale(tile.head, {n, tile.first + r}));
  }
}

// Turns products with the keys from `first_key` on into logits, for both kinds of rows.
void make_logits(const HeadInput& head, Index query, Index first_key, std::span<float> products) {
  if (takes_unit_norms(head)) divide_by_length(head.queries.row(query), products);
  finish_logits(head, query, first_key, products);
}

// Hides the logits of keys from `begin` on that the mask does not keep.
void leave_kept(std::span<const std::uint32_t> positions, Index begin, std::span<float> logits) {
  auto next = std::ranges::lower_bound(positions, static_cast<std::uint32_t>(begin));
  for (Index i = 0; i < std::ssize(logits); ++i) {
    if (next != positions.end() && *next == begin + i) {
      ++next;
    } else {
      logits[static_cast<std::size_t>(i)] = kHidden;
    }
  }
}

// Turns the products (or logits) of a query with the keys from `block` on into the input of
// softmax.
void finish_row(const QueryTile& tile, Index r, const AttendedRow& row, Index block,
                std::span<float> products) {
  const Index count = std::ssize(products);
  const Index begin = std::clamp(row.keys.begin - block, Index{0}, count);
  const Index end = std::clamp(row.keys.end - block, begin, count);
  std::ranges::fill(products.first(static_cast<std::size_t>(begin)), kHidden);
  std::ranges::fill(products.subspan(static_cast<std::size_t>(end)), kHidden);
  if (begin == end) return;
  const std::span<float> logits =
      products.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  if (tile.logits.empty()) make_logits(tile.head, tile.first + r, block + begin, logits);
  if (row.scale != 1.0f) {
    for (float& logit : logits) logit *= row.scale;
  }
  if (!row.positions.empty()) leave_kept(row.positions, block + begin, logits);
}

void attend_in_blocks(const QueryTile& tile, MatrixView<float> out, AttentionScratch& scratch) {
  begin_rows(tile, scratch);
  scratch.softmax.begin(out);
  if (scratch.tile.empty()) scratch.tile = Matrix<float>(kTileRows, kKeyBlock);
  const Index end = tile.keys(tile.rows - 1).end;
  for (Index begin = tile.keys(0).begin / kKeyBlock * kKeyBlock; begin < end; begin += kKeyBlock) {
    const PackedHead::Block& block =
        tile.packed.blocks[static_cast<std::size_t>(begin / kKeyBlock)];
    const Index count = std::min(kKeyBlock, end - begin);
    const auto scores = scratch.tile.view().block(0, tile.rows, 0, count);
    if (tile.logits.empty()) gemm(tile.queries(), block.keys, scores, {.col_end = count});
    for (Index r = 0; r < tile.rows; ++r) {
      if (!tile.logits.empty()) {
        std::copy_n(tile.logits.row(r).begin() + begin, count, scores.row(r).begin());
      }
      finish_row(tile, r, scratch.rows[static_cast<std::size_t>(r)], begin, scores.row(r));
    }
    scratch.softmax.weigh(0, scores, {}, out);
    gemm(scores, block.values, out, {.accumulate = true});
  }
  scratch.softmax.finish(out);
}

void attend_in_rows(const QueryTile& tile, MatrixView<float> out, AttentionScratch& scratch) {
  const PackedHead::Block& packed = tile.packed.blocks.front();
  const Index begin = tile.keys(0).begin, end = tile.keys(tile.rows - 1).end;
  if (scratch.whole.cols() < tile.length) scratch.whole = Matrix<float>(kWholeRows, tile.length);
  const MatrixView<float> scores = scratch.whole.view().block(0, tile.rows, 0, end);
  gemm(tile.queries(), packed.keys, scores, {.col_begin = begin, .col_end = end});
  scratch.range_rows.clear();
  for (Index r = 0; r < tile.rows; ++r) {
    const KeyRange keys = tile.keys(r);
    const auto visible = scores.row(r).subspan(static_cast<std::size_t>(keys.begin),
                                               static_cast<std::size_t>(keys.size()));
    make_logits(tile.head, tile.first + r, keys.begin, visible);
    scratch.range_rows.push_back({tile.first + r, keys, visible});
  }
  weigh_ranges(tile.head, scratch.range_rows, scratch.range);
  for (Index r = 0; r < tile.rows; ++r) {
    const KeyRange keys = tile.keys(r);
    const auto row = scores.row(r);
    std::fill(row.begin() + begin, row.begin() + keys.begin, 0.0f);
    std::fill(row.begin() + keys.end, row.end(), 0.0f);
  }
  gemm(scores.block(0, tile.rows, begin, end - begin), packed.values, out, {.b_row = begin});
}

void pack(const HeadInput& head, bool scored, PackedHead& packed) {
  const Index length = head.keys.rows(), size = streams(head) ? kKeyBlock : length;
  packed.blocks.resize(static_cast<std::size_t>((length + size - 1) / size));
  for (std::size_t b = 0; b < packed.blocks.size(); ++b) {
    const Index first = static_cast<Index>(b) * size, count = std::min(size, length - first);
    const auto part = [&](MatrixView<const float> rows) {
      return rows.block(first, count, 0, rows.cols());
    };
    if (!scored) {
      pack_keys(part(head.keys), head.scale, takes_unit_norms(head), packed.blocks[b].keys);
    }
    packed.blocks[b].values.assign_rows(part(head.values));
  }
}

// Packs keys and values of the heads into work.heads (only the values if the rows are `scored`),
// and returns each head's index there. Heads that share keys and treat them alike share a packed
// copy.
std::vector<std::size_t> pack_heads(std::span<const HeadInput> heads, bool scored,
                                    AttentionWorkspace& work, ThreadPool& pool) {
  std::vector<std::size_t> packed_of(heads.size());
  std::vector<const HeadInput*> distinct;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const auto same = std::ranges::find_if(distinct, [&](const HeadInput* other) {
      return other->kv_head == heads[h].kv_head && streams(*other) == streams(heads[h]) &&
             takes_unit_norms(*other) == takes_unit_norms(heads[h]);
    });
    packed_of[h] = static_cast<std::size_t>(same - distinct.begin());
    if (same == distinct.end()) distinct.push_back(&heads[h]);
  }
  work.heads.resize(std::max(work.heads.size(), distinct.size()));
  pool.for_each(std::ssize(distinct), [&](Index i) {
    pack(*distinct[static_cast<std::size_t>(i)], scored, work.heads[static_cast<std::size_t>(i)]);
  });
  return packed_of;
}

}  // namespace

void attend(std::span<const HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
            ThreadPool& pool) {
  const Index length = heads.front().length();
  const std::vector<std::size_t> packed_of = pack_heads(heads, false, work, pool);
  work.threads.resize(static_cast<std::size_t>(pool.threads()));
  const Index tiles = (length + kTileRows - 1) / kTileRows;
  const auto count = std::ssize(heads);
  pool.for_each_slot(tiles * count, [&](Index i, int slot) {
    const auto h = static_cast<std::size_t>(i % count);
    const Index first = (tiles - 1 - i / count) * kTileRows;  // longest rows first
    const QueryTile tile{heads[h], work.heads[packed_of[h]], length, first,
                         std::min(kTileRows, length - first)};
    AttentionScratch& scratch = work.threads[static_cast<std::size_t>(slot)];
    if (streams(tile.head)) return attend_in_blocks(tile, tile.of(out), scratch);
    for (Index at = 0; at < tile.rows; at += kWholeRows) {
      QueryTile part = tile;
      part.first += at;
      part.rows = std::min(kWholeRows, tile.rows - at);
      attend_in_rows(part, part.of(out), scratch);
    }
  });
}

class ScoredHeads::Output final : public HeadOutput {
 public:
  Output(const HeadInput& head, const PackedHead& packed, MatrixView<float> out)
      : head_(head), packed_(packed), out_(out) {}

  void add(Index first, MatrixView<const float> logits) override {
    thread_local AttentionScratch scratch;
    const QueryTile tile{head_, packed_, head_.length(), first, logits.rows(), logits};
    attend_in_blocks(tile, tile.of(out_), scratch);
    rows_ += logits.rows();
  }
  bool has_all() const { return rows_ == head_.length(); }

 private:
  HeadInput head_;
  const PackedHead& packed_;
  MatrixView<float> out_;
  std::atomic<Index> rows_ = 0;
};

ScoredHeads::ScoredHeads() = default;
ScoredHeads::~ScoredHeads() = default;

void ScoredHeads::begin(std::span<HeadInput> heads, MatrixView<float> out, AttentionWorkspace& work,
                        ThreadPool& pool) {
  outputs_.clear();
  const std::vector<std::size_t> packed_of = pack_heads(heads, true, work, pool);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (!streams(heads[h]) || takes_unit_norms(heads[h])) continue;
    outputs_.push_back(std::make_unique<Output>(heads[h], work.heads[packed_of[h]], out));
    heads[h].output = outputs_.back().get();
  }
}

void ScoredHeads::finish(std::span<HeadInput> heads, MatrixView<float> out,
                         AttentionWorkspace& work, ThreadPool& pool) {
  std::vector<HeadInput> rest;
  for (HeadInput& head : heads) {
    const auto* output = static_cast<const Output*>(head.output);
    head.output = nullptr;
    if (output == nullptr || !output->has_all()) rest.push_back(head);
  }
  if (!rest.empty()) attend(rest, out, work, pool);
  outputs_.clear();
}

std::size_t attention_bytes(Index length, Index kv_heads, Index head_dim, int threads) {
  const Index packed = kv_heads * head_dim * (2 * length + 2 * PackedMatrix::kPanel);
  return sizeof(float) * static_cast<std::size_t>(packed + threads * kTileRows * length);
}

}  // namespace headgauge
