// Bootstrap intervals (Efron and Tibshirani, An Introduction to the Bootstrap, 1993) of any figure
// of independent units: heads, documents.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "statistics/inference.hpp"

namespace headgauge {

// percentile: the quantiles of the resamples. Of few units it is too narrow: of a mean of 8 it
// holds
//   the truth in 89 % where it says 95.
// expanded: with the quantiles that make it right for means of normal values of any number
//   (Hesterberg, The American Statistician 69, 2015).
// bca: bias-corrected and accelerated (Efron, JASA 82, 1987), for skewed figures of 20 units or
//   more.
enum class BootstrapKind { percentile, expanded, bca };

struct BootstrapOptions {
  double level = 0.05;  // of the truths that lie outside, half of it on each side
  int resamples = 2000;
  BootstrapKind kind = BootstrapKind::bca;
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;  // another for each figure: equal streams draw the same units
};

// The figure of a list of units, which may hold some more than once.
using FigureOfUnits = std::function<double(std::span<const Index> units)>;

// Resamples whose figure is undefined are left out. Undefined with fewer than 2 units, or where the
// figure of all units is undefined.
Interval bootstrap_interval(Index units, const FigureOfUnits& figure,
                            const BootstrapOptions& options = {});

// The same of several figures that are worked out together: fills `figures`.
using FiguresOfUnits = std::function<void(std::span<const Index> units, std::span<double> figures)>;
std::vector<Interval> bootstrap_intervals(Index units, Index count, const FiguresOfUnits& figures,
                                          const BootstrapOptions& options = {});

}  // namespace headgauge
