// The best rows of one head by one criterion, whatever the order in which they are seen.
#pragma once

#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// Of this many neighbouring queries (positions 0 to 15, 16 to 31 ...) of a document a criterion
// keeps the best alone: its neighbours select much the same keys.
inline constexpr Index kStretch = 16;

// Whether `a` comes before `b`: the larger value first, then the earlier document, then the earlier
// query. No two rows of a head are equal in this order, so that it decides alone what is kept.
bool comes_before(const Example& a, const Example& b);

class Candidates {
 public:
  // Keeps the best `most` stretches.
  explicit Candidates(int most) : most_(most) {}
  // Whether add() would keep a row of this value, document and query.
  bool wants(const Example& row) const;
  void add(Example row);
  void add(const Candidates& others) {
    for (const Example& row : others.rows_) add(row);
  }
  void clear() { rows_.clear(); }
  // The best first.
  const std::vector<Example>& rows() const { return rows_; }

 private:
  // The row of the same stretch, or the end.
  std::vector<Example>::const_iterator of_same_stretch(const Example& row) const;

  int most_;
  std::vector<Example> rows_;
};

}  // namespace headgauge
