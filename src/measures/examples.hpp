// Examples of what a head selects: the queries that rank highest by a few criteria, each with its
// heaviest keys (docs/examples.md). They are not a metric: see Results::examples.
#pragma once

#include <array>
#include <memory>

#include "headgauge/measure.hpp"

namespace headgauge {

// Why a query is kept, in the order in which the criteria choose. The value is a share.
enum class ExampleCriterion {
  change,  // how much of the weight the change moves
  far,     // the largest share on one key of the role `distant`
  near,    // the largest share on one other key except the first
  spread,  // entropy divided by log of the number of keys
};
inline constexpr std::array<const char*, 4> kExampleCriteria = {"change", "far", "near", "spread"};

// Keeps the heaviest keys of a query that together hold this share of its weight, up to a limit.
inline constexpr double kExampleShare = 0.95;
inline constexpr int kExampleKeys = 32;
// Queries before this position have few keys and are not used as examples; nor are those in the
// first half of shorter contexts.
inline constexpr Index kFirstExample = 64;

// Makes a measure that keeps `count` queries of each head; `longest` is the longest measured
// length.
std::unique_ptr<Measure> make_examples_measure(int count, Index longest, int slots);

}  // namespace headgauge
