#include "scan/head_scanner.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "heads/masked_row.hpp"
#include "heads/scores.hpp"
#include "measures/key_ranges.hpp"

namespace headgauge {

namespace {

// Returns a view of rows x keys on memory that grows to the largest tile so far. The row stride is
// an odd number of cache lines, so that rows do not compete for the same cache sets.
MatrixView<float> tile_view(AlignedVector<float>& memory, Index rows, Index keys) {
  const Index stride = (keys + 31) / 32 * 32 + 16;
  if (std::ssize(memory) < rows * stride) memory.resize(rows * stride);
  return {memory.data(), rows, keys, stride};
}

// Rows scored and weighed together: their logits stay in the L2 cache between the two steps.
constexpr Index kScoredRows = 16;

// Returns whether float32, which holds weights and sums of their squares, is too narrow for a row.
bool is_beyond_float32(const Row& row, const Normalizer& normalizer) {
  constexpr double kSmallest = 1e-18, kLargest = 1e18;  // their squares are normal numbers
  const WeightSums& sums = row.sums;
  if (!std::isfinite(sums.abs_mass) || !std::isfinite(sums.square)) return true;
  const double largest = std::max(sums.max, -sums.min);
  if (largest > 0) return largest < kSmallest || largest > kLargest;
  // Decides in float64 whether weights of 0 are exact or an underflow of float32.
  thread_local std::vector<double> logits, weights;
  logits.assign(row.logits.begin(), row.logits.end());
  weights.resize(logits.size());
  normalizer.weigh(logits, {row.n(), row.query}, weights);
  return std::ranges::any_of(weights, [](double w) { return w != 0; });
}

// Returns whether the tiles hold all queries of a text of `length` tokens in order.
bool hold_all_rows(std::span<const Tile> tiles, Index length) {
  Index next = 0;
  for (const Tile& tile : tiles) {
    const Index rows = std::ssize(tile.queries);
    if (tile.queries.front() != next || tile.queries.back() != next + rows - 1) return false;
    next += rows;
  }
  return next == length;
}

// Hides keys, but never all keys of a row.
class HiddenKeys final : public KeyMask {
 public:
  // `hidden` must be ascending; what `visibility` hides stays hidden. Keeps only the key with the
  // largest logit, the first of equal ones, of those with one vector of `distinct`, if it is given.
  HiddenKeys(std::vector<Index> hidden, Visibility visibility, const Vectors* distinct)
      : hidden_(std::move(hidden)), visibility_(std::move(visibility)), distinct_(distinct) {}
  bool needs_logits() const override {
    return distinct_ != nullptr ||
           (visibility_.mask() != nullptr && visibility_.mask()->needs_logits());
  }
  void select(Index query, KeyRange range, std::span<const float> logits,
              std::vector<std::uint32_t>& keys) const override {
    if (visibility_.mask() != nullptr) {
      visibility_.mask()->select(query, range, logits, keys);
    } else {
      keys.resize(static_cast<std::size_t>(range.size()));
      std::iota(keys.begin(), keys.end(), static_cast<std::uint32_t>(range.begin));
    }
    const auto is_hidden = [&](std::uint32_t key) {
      return std::ranges::binary_search(hidden_, Index{key});
    };
    if (std::ranges::all_of(keys, is_hidden)) {
      // A row that sees only hidden keys keeps one: with one key no set leaves a key out, as in a
      // row that sees none.
      keys.assign(1, static_cast<std::uint32_t>(range.end - 1));
      return;
    }
    std::erase_if(keys, is_hidden);
    if (distinct_ == nullptr) return;
    thread_local std::vector<std::uint32_t> largest;  // by vector: the number of a key, plus 1
    largest.assign(static_cast<std::size_t>(distinct_->rows.rows()), 0);
    for (const std::uint32_t key : keys) {
      std::uint32_t& best = largest[distinct_->row_index(key)];
      if (best == 0 || logits[key - range.begin] > logits[best - 1 - range.begin]) best = key + 1;
    }
    std::erase_if(keys,
                  [&](std::uint32_t key) { return largest[distinct_->row_index(key)] != key + 1; });
  }

 private:
  std::vector<Index> hidden_;
  Visibility visibility_;
  const Vectors* distinct_;
};

// Returns whether two of the first `length` positions have one vector.
bool has_copies(const Vectors& x, Index length) {
  std::vector<bool> seen(static_cast<std::size_t>(x.rows.rows()));
  for (Index j = 0; j < std::min(length, x.size()); ++j) {
    if (seen[x.row_index(j)]) return true;
    seen[x.row_index(j)] = true;
  }
  return false;
}

}  // namespace

HeadScanner::HeadScanner(std::span<const std::unique_ptr<Measure>> measures,
                         const CellLayout& layout, const MeasuredRows& plan, ThreadPool& pool,
                         std::stop_token stop)
    : softmax_(make_normalizer("softmax")),
      measures_(measures),
      layout_(layout),
      plan_(plan),
      pool_(pool),
      stop_(std::move(stop)),
      workspaces_(pool.threads()) {
  for (const auto& measure : measures) {
    needs_.weights = needs_.weights || measure->needs().weights;
    needs_.top = std::max(needs_.top, measure->needs().top);
    keys_.push_back(measure->needs().keys);
    needs_.keys = std::max(needs_.keys, measure->needs().keys);
    needs_.sinks = needs_.sinks || measure->needs().sinks || needs_.keys != Keys::all;
    needs_.original = needs_.original || measure->needs().original;
    needs_.changes = needs_.changes || measure->needs().changes;
  }
}

std::size_t HeadScanner::bytes(Index longest, Index head_dim, int threads, bool changed) {
  const Index tile = kBlockRows * std::max<Index>(longest, 4096);
  const Index keys = (longest + 48) * head_dim;
  // A change adds the original's weights, the positions of a row's keys, and unit-norm keys.
  const Index packed = changed ? 2 : 1, tiles = changed ? 4 : 2;
  return sizeof(float) * (packed * keys + tiles * tile * threads);
}

void HeadScanner::score(const HeadInput& head, const Tile& tile, Index first, Index count,
                        Index keys, Workspace& work) const {
  const auto queries = std::span(tile.queries).subspan(first, count);
  score_rows(head, queries, present_.traits.unit_norms, work.logits.block(first, count, 0, keys),
             work);
  if (!present_.rescored()) return;
  score_rows(head, queries, present_.original_traits.unit_norms,
             work.original.block(first, count, 0, keys), work);
}

void HeadScanner::score_rows(const HeadInput& head, std::span<const Index> queries, bool unit,
                             MatrixView<float> logits, Workspace& work) const {
  const Index count = std::ssize(queries);
  if (!head.scores.empty()) {
    for (Index r = 0; r < count; ++r) {
      const auto from = head.scores.row(queries[r]);
      std::copy_n(from.begin(), logits.cols(), logits.row(r).begin());
    }
  } else {
    const Index d = head.queries.cols();
    MatrixView<const float> rows;
    if (queries.back() - queries.front() == count - 1) {
      rows = head.queries.block(queries.front(), count, 0, d);
    } else {
      if (work.queries.cols() != d) work.queries = Matrix<float>(kScoredRows, d);
      for (Index r = 0; r < count; ++r) {
        std::ranges::copy(head.queries.row(queries[r]), work.queries.row(r).begin());
      }
      rows = std::as_const(work.queries).view().block(0, count, 0, d);
    }
    gemm(rows, packed_[unit].keys, logits, {.col_end = logits.cols()});
    if (unit) {
      for (Index r = 0; r < count; ++r) {
        divide_by_length(head.queries.row(queries[r]), logits.row(r));
      }
    }
  }
  for (Index r = 0; r < count; ++r) finish_logits(head, queries[r], 0, logits.row(r));
}

// Returns the values that rank the top keys: the logits if the normalizer keeps their order
// (weights underflow to equal zeros), otherwise the weights.
std::span<const float> HeadScanner::ranking(const Row& row) const {
  return present_.traits.increasing ? row.logits : row.weights;
}

void HeadScanner::show(const HeadInput& head, Index r, Workspace& work) const {
  Row& row = work.rows[r];
  const std::span<float> logits = work.logits.row(r).subspan(row.keys.begin, row.keys.size());
  row.logits = logits;
  if (!head.scores.empty() && sees_nothing(row.logits)) {
    // The row is processed with zeros and then left out.
    std::ranges::fill(logits, 0.0f);
    row.left_out = Row::LeftOut::sees_no_key;
  } else if (head.visibility.mask() != nullptr) {
    require_finite(head, row.query, row.keys, row.logits);
  }
}

void HeadScanner::select(const HeadInput& head, Index r, Workspace& work) const {
  Row& row = work.rows[r];
  if (head.visibility.mask() == nullptr || row.left_out != Row::LeftOut::no) return;
  const std::span<float> logits = work.logits.row(r);
  const auto of = [&](KeyRange keys) { return logits.subspan(keys.begin, keys.size()); };
  const KeptKeys kept = select_keys(head, row.query, row.keys, row.logits, work.positions[r]);
  row.keys = kept.keys;
  row.positions = kept.positions;
  row.logits = of(row.keys);
  if (row.positions.empty()) return;
  const std::span<float> packed = of(row.keys).first(row.positions.size());
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = logits[row.positions[i]];
  row.logits = packed;
}

void HeadScanner::weigh(const HeadInput& head, Index first, Index count, Workspace& work) const {
  work.weighed.clear();
  for (Index r = first; r < first + count; ++r) {
    Row& row = work.rows[r];
    std::span<float> weights;
    if (present_.weights) weights = work.weights.row(r).subspan(row.keys.begin, row.n());
    row.weights = weights;
    work.weighed.push_back({row.logits, {row.n(), row.query}, weights});
  }
  present_.normalizer->weigh_rows(work.weighed);
  for (Index r = first; r < first + count; ++r) {
    Row& row = work.rows[r];
    row.sums = work.weighed[r - first].sums;
    if (!std::isfinite(row.sums.log_sum_exp) || !std::isfinite(row.sums.min_logit)) {
      require_finite(head, row.query, row.keys, row.logits);
    }
    if (row.left_out == Row::LeftOut::no && is_beyond_float32(row, *present_.normalizer)) {
      row.left_out = Row::LeftOut::beyond_float32;
    }
  }
}

void HeadScanner::mark(Index r, Workspace& work) const {
  Row& row = work.rows[r];
  if (needs_.top > 0) {
    const auto out = std::span(work.top).subspan(r * needs_.top, needs_.top);
    row.top = out.first(select_top(ranking(row), needs_.top, out, work.select));
  }
  std::vector<std::uint32_t>& sinks = work.sinks[r];
  sinks.clear();
  for (const Index position : sinks_) {
    if (const auto key = find_key(row, position)) sinks.push_back(*key);
  }
  row.sinks = sinks;
}

void HeadScanner::weigh_original(Index first, Index count, Workspace& work) const {
  const auto out_of = [&](const Row& row, Index r) {
    return work.original.row(r).subspan(row.keys.begin, row.keys.size());
  };
  work.weighed.clear();
  for (Index r = first; r < first + count; ++r) {
    Row& row = work.rows[r];
    if (present_.adds_mask && row.left_out != Row::LeftOut::no) continue;
    const std::span<float> out = out_of(row, r);
    row.original_keys = row.keys;
    row.original = out;
    std::span<const float> logits = row.logits;
    if (present_.rescored()) {
      // Moves the logits of the keys that the head's own mask keeps to the front.
      for (std::size_t i = 0; i < row.positions.size(); ++i) {
        out[i] = out[row.positions[i] - row.keys.begin];
      }
      logits = out.first(row.n());
    }
    work.weighed.push_back({logits, {row.n(), row.query}, out.first(row.n())});
  }
  present_.original->weigh_rows(work.weighed);
  for (Index r = first; r < first + count; ++r) {
    const Row& row = work.rows[r];
    if (row.positions.empty() || row.original.empty()) continue;
    // The head's own mask leaves gaps: the weights of hidden keys are 0.
    const std::span<float> out = out_of(row, r);
    work.original_row.assign(out.begin(), out.begin() + row.n());
    std::ranges::fill(out, 0.0f);
    for (std::size_t i = 0; i < row.positions.size(); ++i) {
      out[row.positions[i] - row.keys.begin] = work.original_row[i];
    }
  }
}

void HeadScanner::pack(const HeadInput& head, bool unit) {
  const std::array<int, 3> of{head.layer, head.document, head.kv_head};
  PackedKeys& packed = packed_[unit];
  if (!head.scores.empty() || packed.of == of) return;
  const Index count = head.key_count(plan_.used_lengths()[head.document]);
  pack_keys(head.keys.block(0, count, 0, head.keys.cols()), head.scale, unit, packed.keys);
  packed.of = of;
}

void HeadScanner::weigh_tile(const HeadInput& head, const Tile& tile, Purpose purpose,
                             Workspace& work) {
  const Index rows = std::ssize(tile.queries);
  const Index count = head.key_count(plan_.used_lengths()[head.document]);
  const Index keys = head.visibility.range(tile.queries.back(), count).end;
  work.logits = tile_view(work.logit_memory, rows, keys);
  if (present_.weights) work.weights = tile_view(work.weight_memory, rows, keys);
  if (present_.original != nullptr) work.original = tile_view(work.original_memory, rows, keys);
  work.rows.assign(rows, Row{});
  work.positions.resize(kBlockRows);
  work.top.resize(kBlockRows * needs_.top);
  work.sinks.resize(kBlockRows);
  for (Index r = 0; r < rows; ++r) {
    work.rows[r].query = tile.queries[r];
    work.rows[r].keys = head.visibility.range(tile.queries[r], count);
  }
  const bool in_blocks = present_.traits.in_blocks || present_.original_traits.in_blocks;
  const Index together = in_blocks ? rows : kScoredRows;
  for (Index first = 0; first < rows; first += together) {
    const Index taken = std::min(together, rows - first), end = first + taken;
    for (Index part = first; part < end; part += kScoredRows) {
      const Index scored = std::min(kScoredRows, end - part);
      const Index seen = work.rows[part + scored - 1].keys.end;
      score(head, tile, part, scored, seen, work);
      if (present_.output != nullptr && purpose == Purpose::measure) {
        present_.output->add(tile.queries[part], work.logits.block(part, scored, 0, seen));
      }
    }
    for (Index r = first; r < end; ++r) show(head, r, work);
    const bool original = present_.original != nullptr;
    if (original && present_.adds_mask && head.visibility.mask() != nullptr) {
      weigh_original(first, taken, work);
    }
    for (Index r = first; r < end; ++r) select(head, r, work);
    weigh(head, first, taken, work);
    if (original && !present_.adds_mask) weigh_original(first, taken, work);
    for (Index r = first; r < end && purpose != Purpose::find_sinks; ++r) mark(r, work);
  }
}

void HeadScanner::scan_tile(const Views& views, const Tile& tile, int slot, HeadSums& sums) {
  Workspace& work = workspaces_[slot];
  const Index rows = std::ssize(tile.queries);
  if (work.values.empty()) {
    work.values = work.stand_for = Matrix<double>(kBlockRows, layout_.cells());
  }
  const MatrixView<double> values = work.values.view().block(0, rows, 0, layout_.cells());
  const MatrixView<double> stand_for = work.stand_for.view().block(0, rows, 0, layout_.cells());
  for (Index r = 0; r < rows; ++r) std::ranges::fill(values.row(r), kUndefined);
  RowSink sink(values, stand_for);

  // The head with all keys comes last: rows that are left out are undefined, and those of a part of
  // the keys must not undo the values of the other measures.
  for (std::size_t v = views.size(); v-- > 0;) {
    const auto& [head, observes] = views[v];
    if (v > 0 && std::ranges::count(observes, true) == 0) continue;
    weigh_tile(head, tile, v == 0 ? Purpose::measure : Purpose::measure_apart, work);
    for (Index r = 0; r < rows; ++r) work.rows[r].group = tile.groups[r];
    const RowBlock block{&head, present_.normalizer, work.rows};
    for (std::size_t m = 0; m < measures_.size(); ++m) {
      if (observes[m]) measures_[m]->observe(block, slot, sink);
    }
    for (Index r = 0; r < rows; ++r) {
      if (work.rows[r].left_out != Row::LeftOut::no) std::ranges::fill(values.row(r), kUndefined);
    }
  }
  for (Index r = 0; r < rows; ++r) {
    const Row::LeftOut why = work.rows[r].left_out;
    if (why == Row::LeftOut::no) continue;
    ++(why == Row::LeftOut::sees_no_key ? without_keys_ : beyond_float32_);
  }
  sums.add(tile, values, stand_for);
}

HeadScanner::Views HeadScanner::views_of(const HeadInput& head) const {
  const bool sinks = !sinks_.empty();
  const bool copies =
      needs_.keys == Keys::distinct && has_copies(head.x, plan_.used_lengths()[head.document]);
  Views views = {View{head, {}}, View{head, {}}, View{head, {}}};
  const auto hide = [&](View& view, const Vectors* distinct) {
    view.head.visibility =
        head.visibility.masked(std::make_shared<HiddenKeys>(sinks_, head.visibility, distinct));
  };
  if (sinks && needs_.keys != Keys::all) hide(views[1], nullptr);
  if (copies) hide(views[2], &head.x);
  for (View& view : views) view.measures.resize(measures_.size());
  for (std::size_t m = 0; m < keys_.size(); ++m) {
    const std::size_t beyond = sinks && keys_[m] != Keys::all ? 1 : 0;
    views[copies && keys_[m] == Keys::distinct ? 2 : beyond].measures[m] = true;
  }
  return views;
}

void HeadScanner::scan(const HeadInput& head, const HeadInput& original, HeadSums& sums) {
  const bool scores = layout_.cells() > 0 || needs_.weights;
  if (scores) prepare(head, original);
  HeadInput with_sinks = head;
  sinks_.clear();
  if (scores && needs_.sinks) find_sinks(with_sinks);
  const Views views = views_of(with_sinks);
  for (std::size_t m = 0; m < measures_.size() && !stop_.stop_requested(); ++m) {
    const auto own =
        std::ranges::find_if(views, [&](const View& view) { return view.measures[m]; });
    measures_[m]->begin_head(own->head, pool_);
  }
  sums.begin(head.document);
  if (scores) {
    const auto& tiles = sums.document().tiles;
    // The logits of a normalizer with unit norms are cosines, which HeadOutput does not take. Rows
    // that find sinks are not passed on.
    const bool complete = hold_all_rows(tiles, head.length());
    if (complete && !present_.traits.unit_norms) present_.output = head.output;
    const Index count = std::ssize(tiles);
    // Longest rows first, so that no thread ends with the largest tile.
    pool_.for_each_slot(count, [&](Index i, int slot) {
      if (stop_.stop_requested()) return;
      scan_tile(views, tiles[count - 1 - i], slot, sums);
    });
  }
  sums.finish();
  for (const auto& measure : measures_) measure->end_head(with_sinks, sums);
}

void HeadScanner::prepare(const HeadInput& head, const HeadInput& original) {
  present_ = {};
  present_.normalizer = head.normalizer != nullptr ? head.normalizer : softmax_.get();
  present_.traits = present_.normalizer->traits();
  const bool changes = head.normalizer != original.normalizer ||
                       head.visibility.mask() != original.visibility.mask();
  if (needs_.original || (needs_.changes && changes)) {
    present_.original = original.normalizer != nullptr ? original.normalizer : softmax_.get();
    present_.original_traits = present_.original->traits();
    present_.adds_mask = head.visibility.mask() != original.visibility.mask();
  }
  const NormalizerTraits& traits = present_.traits;
  present_.weights = needs_.weights || (needs_.top > 0 && !traits.increasing);
  refuse_if<UsageError>(
      traits.unit_norms && !head.scores.empty(), "normalizer " + present_.normalizer->info().name,
      "queries and keys", "a source that holds scores alone",
      "this normalizer needs the lengths of queries and keys: give a dump with them");
  pack(head, traits.unit_norms);
  if (present_.rescored()) pack(head, present_.original_traits.unit_norms);
}

}  // namespace headgauge
