// Examples of what a head selects: the queries that are most telling by a few criteria, each with
// its heaviest keys (docs/examples.md). No metric: Results::examples.
#pragma once

#include <array>
#include <memory>

#include "headgauge/measure.hpp"

namespace headgauge {

// What a query is kept for, in the order in which the criteria choose. The value is a share.
enum class ExampleCriterion {
  change,  // how much of the weight moves by what is changed
  far,     // the largest share on one key of those that the role `distant` is about
  near,    // the largest share on one of the other keys beyond the first
  spread,  // entropy over log of the number of keys
};
inline constexpr std::array<const char*, 4> kExampleCriteria = {"change", "far", "near", "spread"};

// The keys that are kept of a query: the heaviest that together hold this share of its weight, and
// no more than so many.
inline constexpr double kExampleShare = 0.95;
inline constexpr int kExampleKeys = 32;
// Queries before this position have few keys and are none, nor are those of the first half of
// shorter contexts.
inline constexpr Index kFirstExample = 64;

// Keeps `count` queries of each head; `longest` is the longest length that is measured.
std::unique_ptr<Measure> make_examples_measure(int count, Index longest, int slots);

}  // namespace headgauge
