// Decides which query rows are measured, and groups them: into tiles that are scored together,
// blocks of 64 neighbouring rows (the batches of the standard errors if there are few documents)
// and disjoint position bins, of which every length is a prefix.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/measure.hpp"
#include "heads/batch_means.hpp"

namespace headgauge {

// Consecutive rows of one tile in the same block and the same bin.
struct Segment {
  Index first = 0;  // row in the tile
  Index rows = 0;
  Index block = 0;  // query / 64
  Index bin = 0;
  Index piece = 0;  // the piece of the document that its rows belong to
};

// Rows of a document whose sum is kept: those of a bin or, if blocks are the batches, those of a
// block in a bin.
struct Piece {
  Index block = 0;  // block of the first row
  Index bin = 0;
  // The first of the pieces that a metric sums together: if it is kept at every length, and if it
  // is kept at the longest only.
  Index of_length = 0;
  Index of_all = 0;
};

struct Tile {
  std::vector<Index> queries;    // 0-based positions, ascending
  std::vector<RowGroup> groups;  // group of each row
  std::vector<double> weights;   // rows of the bin that each row represents (1 if not sampled)
  std::vector<Segment> segments;
  Index first_segment = 0;  // number of the tile's first segment in the document
};

struct DocumentRows {
  Index length = 0;  // tokens used: the longest length that fits
  std::vector<Tile> tiles;
  Index segments = 0;
  std::vector<Piece> pieces;  // by bin, then block
};

class MeasuredRows {
 public:
  // `lengths` must be ascending; `queries` is the number of rows per bin (0: all); `seed` selects
  // them.
  MeasuredRows(std::span<const int> lengths, std::span<const Index> document_lengths, int queries,
               std::uint64_t seed);
  const std::vector<int>& lengths() const { return lengths_; }
  // Returns the upper edges of the position bins: the lengths, and the powers of two below the
  // longest.
  const std::vector<int>& edges() const { return edges_; }
  // Returns the number of bins that make up length number `l`.
  Index bins_of_length(Index l) const { return bins_of_length_[l]; }
  // Returns the plan of a document. Documents of one length share it if all rows are measured. If
  // rows are sampled, it is made on request, and the last one is kept. Thread-safe.
  std::shared_ptr<const DocumentRows> document(Index number) const;
  // Returns the number of used tokens of each document: the longest length that fits.
  const std::vector<Index>& used_lengths() const { return used_lengths_; }
  // Returns one document of each used length.
  std::vector<Index> one_of_each_length() const;
  // Returns true if documents are the batches of means over rows up to this bin, false if blocks
  // are.
  bool documents_are_batches_to(Index bin) const;
  Index longest() const { return lengths_.back(); }

 private:
  bool draws_rows(Index length) const;
  DocumentRows make(Index number) const;
  void divide(DocumentRows& document) const;
  Piece next_piece(std::span<const Piece> before, const Segment& segment, bool by_block) const;

  std::vector<int> lengths_;
  std::vector<int> edges_;
  std::vector<Index> bins_of_length_;
  std::vector<Index> documents_to_;  // by bin: number of documents that reach it
  std::vector<Index> used_lengths_;
  int queries_;
  std::uint64_t seed_;

  mutable std::mutex making_;
  mutable std::map<Index, std::shared_ptr<const DocumentRows>> of_length_;
  mutable std::pair<Index, std::shared_ptr<const DocumentRows>> drawn_;  // the last one
};

}  // namespace headgauge
