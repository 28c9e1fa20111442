// Null models of separability in which it does not matter which key has which weight, or which
// vector (docs/mathematics.md 7a): some rows are measured again with their weights permuted.
#pragma once

#include <span>
#include <vector>

#include "measures/key_moments.hpp"
#include "measures/pairings.hpp"
#include "measures/selection_sums.hpp"
#include "measures/separability.hpp"

namespace headgauge {

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
