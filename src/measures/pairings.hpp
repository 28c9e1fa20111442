// Rows whose weights are permuted among their keys at random: the null model of separability in
// which it does not matter which key has which weight (docs/mathematics.md 7a).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

// The keys of its row that a weight may move to.
enum class Pairing {
  any,    // all keys
  local,  // keys of its own block of neighbours; blocks are counted from the row's last key
};
inline constexpr Index kPairingBlock = 32;

// Draws a random permutation (Fisher and Yates): the weight of key number i moves to key number
// to[i]. `words` is scratch memory.
void draw_pairing(Pairing pairing, const RandomStream& random, std::span<std::uint32_t> to,
                  std::vector<std::uint32_t>& words);

// The chosen rows of a block with permuted weights: bit-identical weights, and the top set of the
// permuted row (ties by lower key).
class PairedRows {
 public:
  // Removes all rows. Rows of `block` may follow, with the first `depth` members of their top sets.
  void begin(const RowBlock& block, Index depth);
  // Adds row number `r` of the block.
  void add(Index r, Pairing pairing, const RandomStream& random);

  // Returns the rows so far; they have no logits.
  RowBlock block() const { return {block_.head, block_.normalizer, rows_}; }
  // Return, for number `i` of these rows, its number in the block, and the keys that its weights
  // moved to.
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
