// Which query rows are measured, and how they are grouped: into tiles that are scored together,
// blocks of 64 neighbouring rows (the batches of the standard errors of few documents) and disjoint
// bins of position, of which every length is a prefix.
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

// A run of rows of one tile that lie in the same block and the same bin.
struct Segment {
  Index first = 0;  // row in the tile
  Index rows = 0;
  Index block = 0;  // query / 64
  Index bin = 0;
  Index piece = 0;  // of the document, that its rows belong to
};

// Rows of a document whose sum is kept: those of a bin or, where blocks are batches, those of a
// block in a bin.
struct Piece {
  Index block = 0;  // of the first of them
  Index bin = 0;
  // The first piece of the rows that a metric has one sum of: where it is kept at every length, and
  // where it is kept at the longest alone.
  Index of_length = 0;
  Index of_all = 0;
};

struct Tile {
  std::vector<Index> queries;    // 0-based positions, ascending
  std::vector<RowGroup> groups;  // of each row
  std::vector<double> weights;   // rows of the bin that each row stands for (1 when not sampled)
  std::vector<Segment> segments;
  Index first_segment = 0;  // number of the tile's first segment in the document
};

struct DocumentPlan {
  Index length = 0;  // tokens used: the longest length that fits
  std::vector<Tile> tiles;
  Index segments = 0;
  std::vector<Piece> pieces;  // by bin, then block
};

class RowPlan {
 public:
  // `lengths` ascending; `queries` rows a bin (0: all); `seed` picks them.
  RowPlan(std::span<const int> lengths, std::span<const Index> document_lengths, int queries,
          std::uint64_t seed);
  const std::vector<int>& lengths() const { return lengths_; }
  // Upper edges of the position bins: the lengths and the powers of two below the longest.
  const std::vector<int>& edges() const { return edges_; }
  // The number of bins that make up length `l`.
  Index bins_of_length(Index l) const { return bins_of_length_[l]; }
  // Of a document. Documents of one length share theirs where all rows are measured; where rows are
  // drawn it is made when it is asked for, and the last one is kept. Several threads may ask.
  std::shared_ptr<const DocumentPlan> document(Index number) const;
  // Tokens that are used of each document: the longest length that fits.
  const std::vector<Index>& used_lengths() const { return used_lengths_; }
  // A document of each used length.
  std::vector<Index> one_of_each_length() const;
  // Whether documents are the batches of means over rows that end with this bin; else blocks are.
  bool documents_are_batches_to(Index bin) const;
  Index longest() const { return lengths_.back(); }

 private:
  bool draws_rows(Index length) const;
  DocumentPlan make(Index number) const;
  void divide(DocumentPlan& document) const;
  Piece next_piece(std::span<const Piece> before, const Segment& segment, bool by_block) const;

  std::vector<int> lengths_;
  std::vector<int> edges_;
  std::vector<Index> bins_of_length_;
  std::vector<Index> documents_to_;  // by bin: how many hold it
  std::vector<Index> used_lengths_;
  int queries_;
  std::uint64_t seed_;

  mutable std::mutex making_;
  mutable std::map<Index, std::shared_ptr<const DocumentPlan>> of_length_;
  mutable std::pair<Index, std::shared_ptr<const DocumentPlan>> drawn_;  // last
};

}  // namespace headgauge
