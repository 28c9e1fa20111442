// What separability would be if it did not matter which key has which weight, or which vector the
// keys have (docs/mathematics.md 7a): some rows once more, with their weights permuted.
#pragma once

#include <vector>

#include "measures/pairings.hpp"
#include "measures/selection_sums.hpp"
#include "measures/separability.hpp"

namespace headgauge {

// Each null is measured in one row of so many; in the next head those are the rows before.
inline constexpr Index kNullRows = 2;
inline constexpr Index kLocalRows = 8;
inline constexpr Index kSphereRows = 8;

// The metrics of a null: what it is, and by how much the row exceeds it (where that is wanted).
struct NullMetrics {
  MetricHandle value, excess;
};

// What the nulls of a head are measured against.
struct NullSpaces {
  SelectionSpace text;
  SelectionSpace sphere;  // random points in place of x
  SelectionPlan plan;     // of separability alone
  SelectionPlan sphere_plan;
  bool all = true;  // the local null and the sphere too
};
// The plan of the nulls for rows that are measured under `plan`.
SelectionPlan null_plan(const SelectionPlan& plan, bool unit_sphere);

// The nulls of a block of rows. Between begin() and measure() the sums that gather() asks for must
// have been made.
class SeparabilityNulls {
 public:
  struct Metrics {
    NullMetrics any, local, sphere;
  };
  // Permutes the weights of the rows that have nulls.
  void begin(const RowBlock& rows, const NullSpaces& spaces);
  // Adds the sums over the vectors of the text; those over the sphere are made at once.
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
  // Whether a row has the null by permutation, and those that are there beside it.
  bool has(Index r, Index every) const;
  bool has_others(Index r, Index every) const;
  RandomStream random(Index r, RandomDomain domain) const;
  void separate(Null& null, const PairedRows& paired, MatrixView<const int> found,
                const NullMetrics& metrics, RowSink& sink);

  const RowBlock* rows_ = nullptr;
  const NullSpaces* spaces_ = nullptr;
  PairedRows any_rows_, local_rows_;
  std::vector<Row> sphere_rows_;  // the first ones of any_rows_
  Null any_, local_, sphere_;
  Separator separator_;
};

}  // namespace headgauge
