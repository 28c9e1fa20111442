#include "scan/measured_rows.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/random.hpp"

namespace headgauge {
namespace {

constexpr Index kGroupRows = 16;

// Returns the rows per tile: a tile's logits must stay in the L2 cache.
Index tile_rows(Index keys) {
  constexpr Index kTileFloats = Index{1} << 18;
  return std::clamp<Index>(kTileFloats / std::max<Index>(keys, 1), 16, kBlockRows);
}

// Samples `count` of the rows [begin, end), one from each of `count` equal strata.
std::vector<Index> sample_rows(Index begin, Index end, Index count, const RandomStream& random) {
  std::vector<Index> rows;
  const Index size = end - begin;
  for (Index k = 0; k < count; ++k) {
    const Index low = begin + size * k / count;
    const Index high = begin + size * (k + 1) / count;
    const double u = random.uniforms(static_cast<std::uint32_t>(k))[0];
    rows.push_back(low + static_cast<Index>(u * static_cast<double>(high - low)));
  }
  return rows;
}

void add_row(DocumentRows& plan, Index query, const RowGroup& group, double weight, Index bin) {
  const Index block = query / kBlockRows;
  const bool new_tile = plan.tiles.empty() ||
                        static_cast<Index>(plan.tiles.back().queries.size()) >=
                            tile_rows(plan.tiles.back().queries.front() + 1) ||
                        // If all rows are measured, a tile is a block, so that tiles are aligned.
                        (weight == 1.0 && query % tile_rows(query + 1) == 0);
  if (new_tile) {
    Tile tile;
    tile.first_segment = plan.segments;
    plan.tiles.push_back(std::move(tile));
  }
  Tile& tile = plan.tiles.back();
  if (tile.segments.empty() || tile.segments.back().block != block ||
      tile.segments.back().bin != bin) {
    tile.segments.push_back({std::ssize(tile.queries), 0, block, bin});
    ++plan.segments;
  }
  ++tile.segments.back().rows;
  tile.queries.push_back(query);
  tile.groups.push_back(group);
  tile.weights.push_back(weight);
}

}  // namespace

MeasuredRows::MeasuredRows(std::span<const int> lengths, std::span<const Index> document_lengths,
                           int queries, std::uint64_t seed)
    : lengths_(lengths.begin(), lengths.end()), queries_(queries), seed_(seed) {
  std::set<int> edges(lengths_.begin(), lengths_.end());
  for (int edge = 1; edge < lengths_.back(); edge *= 2) edges.insert(edge);
  edges_.assign(edges.begin(), edges.end());
  for (int length : lengths_) {
    const auto at = std::find(edges_.begin(), edges_.end(), length);
    bins_of_length_.push_back(at - edges_.begin() + 1);
  }
  for (const Index document : document_lengths) {
    Index& used = used_lengths_.emplace_back(0);
    for (const int length : lengths_) {
      if (length <= document) used = length;
    }
  }
  for (const int edge : edges_) {
    documents_to_.push_back(
        std::ranges::count_if(used_lengths_, [&](Index length) { return length >= edge; }));
  }
}

// Rows are sampled in bins with more than `queries_` rows.
bool MeasuredRows::draws_rows(Index length) const {
  Index begin = 0;
  for (std::size_t bin = 0; bin < edges_.size() && edges_[bin] <= length; ++bin) {
    if (queries_ > 0 && edges_[bin] - begin > queries_) return true;
    begin = edges_[bin];
  }
  return false;
}

DocumentRows MeasuredRows::make(Index number) const {
  DocumentRows plan;
  plan.length = used_lengths_[static_cast<std::size_t>(number)];
  Index begin = 0;
  for (std::size_t bin = 0; bin < edges_.size() && edges_[bin] <= plan.length; ++bin) {
    const Index end = edges_[bin];
    std::vector<Index> rows(end - begin);
    std::iota(rows.begin(), rows.end(), begin);
    if (queries_ > 0 && std::ssize(rows) > queries_) {
      const RandomStream random(seed_, RandomDomain::query_sampling,
                                static_cast<std::uint32_t>(number),
                                static_cast<std::uint32_t>(bin));
      rows = sample_rows(begin, end, queries_, random);
    }
    const double weight = static_cast<double>(end - begin) / static_cast<double>(rows.size());
    for (Index i = 0; i < std::ssize(rows); ++i) {
      const Index place = i % kGroupRows, first = i - place;
      const RowGroup group{rows[first], std::min(kGroupRows, std::ssize(rows) - first), place};
      add_row(plan, rows[i], group, weight, static_cast<Index>(bin));
    }
    begin = end;
  }
  divide(plan);
  return plan;
}

std::shared_ptr<const DocumentRows> MeasuredRows::document(Index number) const {
  const Index length = used_lengths_[static_cast<std::size_t>(number)];
  const std::lock_guard lock(making_);
  const bool draws = draws_rows(length);
  std::shared_ptr<const DocumentRows>& kept = draws ? drawn_.second : of_length_[length];
  if (kept == nullptr || (draws && drawn_.first != number)) {
    kept = std::make_shared<const DocumentRows>(make(number));
    if (draws) drawn_.first = number;
  }
  return kept;
}

std::vector<Index> MeasuredRows::one_of_each_length() const {
  std::map<Index, Index> first;
  for (Index d = 0; d < std::ssize(used_lengths_); ++d) {
    first.emplace(used_lengths_[static_cast<std::size_t>(d)], d);
  }
  std::vector<Index> documents;
  for (const auto& [length, document] : first) documents.push_back(document);
  return documents;
}

bool MeasuredRows::documents_are_batches_to(Index bin) const {
  return documents_are_batches(documents_to_[static_cast<std::size_t>(bin)]);
}

Piece MeasuredRows::next_piece(std::span<const Piece> before, const Segment& segment,
                               bool by_block) const {
  const Index number = std::ssize(before);
  Piece piece{segment.block, segment.bin, number, number};
  if (before.empty() || (by_block && before.back().block != segment.block)) return piece;
  piece.of_all = before.back().of_all;
  // true for the first bin after a length
  const auto begins = std::ranges::find(bins_of_length_, segment.bin);
  const bool same_bin = before.back().bin == segment.bin;
  if (same_bin || begins == bins_of_length_.end()) piece.of_length = before.back().of_length;
  return piece;
}

// Every bin of a document has at least as many documents as its last bin.
void MeasuredRows::divide(DocumentRows& document) const {
  if (document.tiles.empty()) return;
  const Index last = document.tiles.back().segments.back().bin;
  const bool by_block = !documents_are_batches_to(last);
  std::vector<Piece>& pieces = document.pieces;
  for (Tile& tile : document.tiles) {
    for (Segment& segment : tile.segments) {
      if (pieces.empty() || pieces.back().bin != segment.bin ||
          (by_block && pieces.back().block != segment.block)) {
        pieces.push_back(next_piece(pieces, segment, by_block));
      }
      segment.piece = std::ssize(pieces) - 1;
    }
  }
}

}  // namespace headgauge
