// Rows whose weights are dealt out anew to their keys, at random: what separability would be if it
// did not matter which key has which weight (docs/mathematics.md 7a).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

// Which keys of its row a weight may move to.
enum class Pairing {
  any,    // all of them
  local,  // those of its own block of neighbours; blocks are counted from the row's last key
};
inline constexpr Index kPairingBlock = 32;

// A random permutation (Fisher and Yates): key number i hands its weight to key number to[i].
// `words` is scratch memory.
void draw_pairing(Pairing pairing, const RandomStream& random, std::span<std::uint32_t> to,
                  std::vector<std::uint32_t>& words);

// The rows of a block that were chosen, with their weights permuted: the same weights, to the bit,
// and the top set of the permuted row (ties by lower key, as ever).
class PairedRows {
 public:
  // Forgets all rows. Those of `block` may follow, with the first `depth` members of their top
  // sets.
  void begin(const RowBlock& block, Index depth);
  // Adds row number `r` of the block.
  void add(Index r, Pairing pairing, const RandomStream& random);

  // The rows so far; they have no logits.
  RowBlock block() const { return {block_.head, block_.normalizer, rows_}; }
  // Number `i` of these rows: its number in the block, and where the weights of its keys went.
  Index source(Index i) const { return source_[i]; }
  std::span<const std::uint32_t> pairing(Index i) const {
    return std::span(to_).subspan(i * stride_, rows_[i].n());
  }

 private:
  void rank(const Row& row, std::span<const std::uint32_t> to, std::span<std::uint32_t> top);

  RowBlock block_;
  Index stride_ = 0;
  Index depth_ = 0;
  std::vector<Row> rows_;
  std::vector<Index> source_;
  AlignedVector<float> weights_;    // rows x stride
  std::vector<std::uint32_t> to_;   // rows x stride
  std::vector<std::uint32_t> top_;  // rows x depth
  std::vector<std::uint32_t> tied_, words_;
};

}  // namespace headgauge
