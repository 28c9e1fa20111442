// The measures of how well the top-N set of a row stands apart (paper A): groups distance,
// separability, coverage and proportion. They share the sorted set, the Gram matrix and the prefix
// sums over N, so one Measure serves the first three, and another the last.
#pragma once

#include <cstddef>
#include <memory>

#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

struct SelectionGroups {
  bool distance = true;
  bool separability = true;
  bool coverage = true;  // unions over the heads of a layer; brings separability in, hidden
  // By itself: distance and separability at shares of the keys of each row
  // (MeasureOptions::top_share) in place of fixed sizes.
  bool proportion = false;
};

// The largest matrix of products between the vectors of a text that is kept, in bytes.
inline constexpr std::size_t kGramLimit = std::size_t{320} << 20;

// The source must have x. `slots` is the number of threads that observe() is called from.
std::unique_ptr<Measure> make_selection_measure(const MeasureOptions& options,
                                                const SourceInfo& source, SelectionGroups groups,
                                                int slots, std::size_t gram_limit = kGramLimit);

// Memory that such a measure holds at its peak: Gram matrices, the sets of a layer of the
// longest document, workspaces.
// `longest` is the longest context, `dimension` that of x.
std::size_t selection_bytes(const MeasureOptions& options, const SourceInfo& source,
                            SelectionGroups groups, Index longest, Index dimension, int slots);

}  // namespace headgauge
