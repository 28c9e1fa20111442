// Measures of how clearly the top-N set of a row is separated (paper A): groups distance,
// separability, coverage and proportion. They share the sorted set, the Gram matrix and the prefix
// sums over N. One Measure computes the first three groups, another the last.
#pragma once

#include <cstddef>
#include <memory>

#include "headgauge/heads.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

struct SelectionGroups {
  bool distance = true;
  bool separability = true;
  bool coverage = true;  // unions over the heads of a layer; needs separability, as hidden metrics
  // Excludes the other groups: distance and separability at shares of the keys of each row
  // (MeasureOptions::top_share) instead of fixed sizes.
  bool proportion = false;
  // Other keys than all: separability_excess_with_sinks and what it needs alone, under names of
  // their own, whatever MeasureOptions::beyond_sinks is.
  MeasureNeeds::Keys keys = MeasureNeeds::Keys::all;
};

// The largest Gram matrix that is kept, in bytes.
inline constexpr std::size_t kGramLimit = std::size_t{320} << 20;

class SharedGram;

// The source must have x. Measures with one `shared` keep one Gram matrix. `slots` is the number of
// threads that observe() is called from.
std::unique_ptr<Measure> make_selection_measure(const MeasureOptions& options,
                                                const SourceInfo& source, SelectionGroups groups,
                                                int slots, std::size_t gram_limit = kGramLimit,
                                                std::shared_ptr<SharedGram> shared = nullptr);

// Estimates the measure's peak memory: Gram matrices, the sets of a layer of the longest document,
// workspaces. `longest` is the longest context, `dimension` that of x.
std::size_t selection_bytes(const MeasureOptions& options, const SourceInfo& source,
                            SelectionGroups groups, Index longest, Index dimension, int slots);

}  // namespace headgauge
