// What the claims of paper A read from the results of a scan.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/results.hpp"
#include "reproduce/judgement.hpp"

namespace headgauge {

inline constexpr double kShortestDrawn = 32;  // of the paper's figures

// The labels of a coordinate; empty without it.
std::span<const double> numbers(const Results& results, std::string_view coord);

// The value of a head at one place along `along` (length or position) and of one set size, where
// the metric has such a dim.
std::optional<double> value_at(const Results& results, std::string_view metric,
                               const HeadName& head, std::string_view along, Index at,
                               const Pick& size);

// Whether the layer of this head looks back no further than a window below the longest length.
bool windowed(const Results& results, const HeadName& head);

// Contexts and a head's value in each, from kShortestDrawn on. Rows of a causal head: disjoint
// bins of positions, at their mean number of keys; the means over all rows up to L overlap. A head
// that sees everything has a pass for each L.
struct Growth {
  std::vector<double> context, value;
};
Growth growth_of(const Results& results, const std::string& metric, const HeadName& head,
                 const Pick& size = {"top_n", 0});

// The exponents of a metric in the context, head by head, and how many are within [low, high]. A
// head without enough points is undecided and has no exponent; heads with a window below the
// longest length are left out.
struct HeadPowers {
  HeadVotes votes;
  std::vector<Estimate> exponents;
  std::vector<double> values() const;
};
HeadPowers powers_of_heads(const Results& results, const std::string& metric, const Pick& size,
                           double low, double high);

}  // namespace headgauge
