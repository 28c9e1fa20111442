// Reads the values that the claims of paper A need from the results of a scan.
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

inline constexpr double kShortestDrawn = 32;  // the shortest length in the paper's figures

// Returns the labels of a coordinate; empty if there is none.
std::span<const double> numbers(const Results& results, std::string_view coord);

// Returns the value of a head at one index along `along` (length or position) and, if the metric
// has such a dim, of one set size.
std::optional<double> value_at(const Results& results, std::string_view metric,
                               const HeadName& head, std::string_view along, Index at,
                               const Pick& size);

// Which heads a claim is about: claims that compare lengths, or N with the length, leave out heads
// with a window shorter than the longest length.
enum class Heads { all, without_window };
std::vector<HeadName> heads_of(const Results& results, Heads which);
// Returns whether all heads are left out so.
bool has_windows_alone(const Results& results);
inline constexpr const char* kWindowsAlone = "Every head has a window below L.";

// Returns the ratio of two metrics for each head, at one length and N; undefined unless above 0.
std::vector<double> ratios(const Results& results, Heads which, const char* over, const char* under,
                           Index length, Index n);

// Returns contexts and a head's value in each, from kShortestDrawn on. For a causal head these are
// disjoint position bins, at their mean number of keys, because means over all rows up to L
// overlap. A head that sees all keys has one pass per L.
struct Growth {
  std::vector<double> context, value;
};
Growth growth_of(const Results& results, const std::string& metric, const HeadName& head,
                 const Pick& size = {"top_n", 0});

// The exponents of a metric in the context, one per head, and the number within [low, high]. A head
// without enough points is undecided and has no exponent; heads with a window shorter than the
// longest length are left out.
struct HeadPowers {
  HeadVotes votes;
  std::vector<Estimate> exponents;
  std::vector<double> values() const;
};
HeadPowers powers_of_heads(const Results& results, const std::string& metric, const Pick& size,
                           double low, double high);

}  // namespace headgauge
