// The best rows of one head by one criterion, in whatever order the rows are seen.
#pragma once

#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

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

}  // namespace headgauge
