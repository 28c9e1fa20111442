// Heads for tests: random ones of several kinds, and hand-made rows.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "measures/selection_driver.hpp"
#include "measures/selection_oracle.hpp"

namespace headgauge {

struct HeadKind {
  Index length = 96;
  Index dimension = 16;
  double sharpness = 1.0;  // standard deviation of the logits
  Index vocabulary = 0;    // distinct vectors, drawn for every position; 0: all different
  double drift = 0.0;      // length of a direction common to all vectors
  double uneven = 0.0;     // spread of the log of the vectors' lengths
  std::uint64_t seed = 1;
  Visibility visibility = Visibility::causal();
};

inline MadeHead make_head(const HeadKind& kind) {
  std::mt19937_64 generator(kind.seed);
  std::normal_distribution<double> normal;
  MadeHead head;
  head.visibility = kind.visibility;
  const Index rows = kind.vocabulary > 0 ? kind.vocabulary : kind.length;
  head.rows = Matrix<float>(rows, kind.dimension);
  for (Index i = 0; i < rows; ++i) {
    const double size = std::exp(kind.uneven * normal(generator));
    for (Index d = 0; d < kind.dimension; ++d) {
      const double common = d == 0 ? kind.drift : 0.0;
      head.rows(i, d) = static_cast<float>(size * (common + normal(generator)));
    }
  }
  if (kind.vocabulary > 0) {
    for (Index j = 0; j < kind.length; ++j) {
      head.row_of.push_back(
          static_cast<std::uint32_t>(generator() % static_cast<std::uint64_t>(rows)));
    }
  }
  head.logits = Matrix<float>(kind.length, kind.length);
  for (Index i = 0; i < kind.length; ++i) {
    for (Index j = 0; j < kind.length; ++j) {
      head.logits(i, j) = static_cast<float>(kind.sharpness * normal(generator));
    }
  }
  return head;
}

// The keys that a query sees.
inline std::vector<Index> visible_keys(const MadeHead& head, Index query) {
  const KeyRange range = head.visibility.range(query, head.length());
  std::vector<std::uint32_t> keys;
  if (head.visibility.mask() == nullptr) {
    for (Index j = range.begin; j < range.end; ++j) keys.push_back(static_cast<std::uint32_t>(j));
  } else {
    const auto logits = head.logits.row(query).subspan(range.begin, range.size());
    head.visibility.mask()->select(query, range, logits, keys);
  }
  return {keys.begin(), keys.end()};
}

// What a row of a head is to the oracle.
inline oracle::Row oracle_row(const MadeHead& head, Index query, bool unit_sphere = true) {
  const Vectors x = head.x();
  std::vector<float> logits;
  std::vector<oracle::Vector> vectors;
  for (const Index j : visible_keys(head, query)) {
    logits.push_back(head.logits(query, j));
    vectors.emplace_back(x[j].begin(), x[j].end());
  }
  return {logits, std::move(vectors), unit_sphere};
}

}  // namespace headgauge
