// Null models of separability in which it does not matter which key has which weight, or which
// vector (docs/mathematics.md 7a): some rows are measured again with their weights permuted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "headgauge/measure.hpp"
#include "measures/key_moments.hpp"
#include "measures/selection_sums.hpp"
#include "measures/separability.hpp"

namespace headgauge {

// Rows whose weights are permuted among their keys at random: the null model of separability in
// which it does not matter which key has which weight (docs/mathematics.md 7a).

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

// Each null is measured on one row in this many; the next head uses the preceding rows.
inline constexpr Index kNullRows = 2;
inline constexpr Index kLocalRows = 8;
inline constexpr Index kSphereRows = 8;

// The metrics of a null: its value, by how much the row exceeds it, and a lower bound of its
// expectation (the last two if needed).
struct NullMetrics {
  MetricHandle value, excess, lower;
};

// The vectors that the nulls of a head are measured against.
struct NullSpaces {
  SelectionSpace text;
  SelectionSpace sphere;  // random points instead of x
  SelectionRequest plan;  // of separability only
  SelectionRequest sphere_plan;
  bool all = true;                      // measure the local null and the sphere too
  std::span<const KeyMoments> moments;  // by query; empty if there is no lower bound
};
// Returns the plan of the nulls for rows that are measured under `plan`.
SelectionRequest null_plan(const SelectionRequest& plan, bool unit_sphere);

// The nulls of a block of rows. The sums that gather() adds must be computed between begin() and
// measure().
class SeparabilityNulls {
 public:
  struct Metrics {
    NullMetrics any, local, sphere;
  };
  // Permutes the weights of the rows that have nulls.
  void begin(const RowBlock& rows, const NullSpaces& spaces);
  // Adds the sums over the vectors of the text; computes the sums over the sphere at once.
  void gather(std::vector<PrefixSums>& prefixes);
  // `found` has the number of distinguishable members of every row at each size of the plan.
  void measure(MatrixView<const int> found, const Metrics& metrics, RowSink& sink);

 private:
  struct Null {
    SelectionBlock block;
    SelectionSums sums;
  };

  void deal();
  void place_on_sphere();
  // Returns whether a row has the permutation null, and the other nulls.
  bool has(Index r, Index every) const;
  bool has_others(Index r, Index every) const;
  RandomStream random(Index r, RandomDomain domain) const;
  bool bounded(const NullMetrics& metrics) const;
  void separate(Null& null, const PairedRows& paired, MatrixView<const int> found,
                const NullMetrics& metrics, RowSink& sink);

  const RowBlock* rows_ = nullptr;
  const NullSpaces* spaces_ = nullptr;
  PairedRows any_rows_, local_rows_;
  std::vector<Row> sphere_rows_;  // the first rows of any_rows_
  Null any_, local_, sphere_;
  Separator separator_;
};

}  // namespace headgauge
