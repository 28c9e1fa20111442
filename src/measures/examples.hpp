// Examples of what a head selects: the queries that rank highest by a few criteria, each with its
// heaviest keys (docs/examples.md). They are not a metric: see Results::examples.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/measure.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// The best rows of one head by one criterion, in whatever order the rows are seen.

// A criterion keeps only the best of this many neighbouring queries of a document (positions 0 to
// 15, 16 to 31 ...), because neighbours select much the same keys.
inline constexpr Index kStretch = 16;

// Returns whether `a` comes before `b`: the larger value first, then the earlier document, then the
// earlier query. No two rows of a head are equal in this order, so that it alone decides which rows
// are kept.
bool comes_before(const Example& a, const Example& b);

class Candidates {
 public:
  // Keeps the best `most` stretches.
  explicit Candidates(int most) : most_(most) {}
  // Returns whether add() would keep a row of this value, document and query.
  bool wants(const Example& row) const;
  void add(Example row);
  void add(const Candidates& others) {
    for (const Example& row : others.rows_) add(row);
  }
  void clear() { rows_.clear(); }
  // Returns the rows, best first.
  const std::vector<Example>& rows() const { return rows_; }

 private:
  // Finds the row of the same stretch; returns the end if there is none.
  std::vector<Example>::const_iterator of_same_stretch(const Example& row) const;

  int most_;
  std::vector<Example> rows_;
};

// Why a query is kept, in the order in which the criteria choose. The value is a share.
enum class ExampleCriterion {
  change,  // how much of the weight the change moves
  far,     // the largest share on one key of the role `distant`
  near,    // the largest share on one other key except the first
  spread,  // entropy divided by log of the number of keys
};
inline constexpr std::array<const char*, 4> kExampleCriteria = {"change", "far", "near", "spread"};

// Keeps the heaviest keys of a query that together hold this share of its weight, up to a limit.
inline constexpr double kExampleShare = 0.95;
inline constexpr int kExampleKeys = 32;
// Queries before this position have few keys and are not used as examples; nor are those in the
// first half of shorter contexts.
inline constexpr Index kFirstExample = 64;

// Makes a measure that keeps `count` queries of each head; `longest` is the longest measured
// length.
std::unique_ptr<Measure> make_examples_measure(int count, Index longest, int slots);

}  // namespace headgauge
