// The sums of a row of weights, computed from their shares of the largest weight.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "kernels/softmax.hpp"

namespace headgauge {

// Sums over a row of e_j >= 0, its weights as shares of the largest. Entries with e = 1 are counted
// separately, so that the other sums stay precise in a row where one key has nearly all weight.
struct ShareSums {
  double ones = 0;    // number of entries with e = 1; the sums of powers leave them out
  double first = 0;   // sum e
  double square = 0;  // sum e^2
  double cube = 0;    // sum e^3
  double shift = 0;   // sum e log e
  float min = 0;      // the smallest e

  double total() const { return ones + first; }
};

// Computes log(1 + rest) for finite rest > -1, to 7e-16 (relative if rest >= 0): 1 + rest = 2^k m
// with m in [sqrt 1/2, sqrt 2), log m = 2 artanh((m - 1) / (m + 1)) by its series. Calling
// std::log1p took a tenth of the time, because rows are short.
inline double log_one_plus(double rest) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd;
  const auto bits = std::bit_cast<std::uint64_t>(1.0 + rest);
  const auto k = static_cast<std::int64_t>(bits - kRootHalf) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
  const double r = k == 0 ? rest : m - 1.0;
  const double s = r / (2.0 + r);
  const double t = s * s, t2 = t * t, t4 = t2 * t2;
  const double low = (1.0 + t * (1.0 / 3)) + t2 * (1.0 / 5 + t * (1.0 / 7));
  const double middle = (1.0 / 9 + t * (1.0 / 11)) + t2 * (1.0 / 13 + t * (1.0 / 15));
  const double high = (1.0 / 17 + t * (1.0 / 19)) + t2 * (1.0 / 21);
  const double series = low + t4 * (middle + t4 * high);
  return static_cast<double>(k) * 0.693147180559945309417 + 2.0 * s * series;
}

// Returns the sums of the weights mass e / total; log_sum_exp is log total.
inline WeightSums weight_sums(const ShareSums& e, const Extremes& logits, double mass = 1.0) {
  const double scale = 1.0 / e.total(), factor = mass * scale;
  WeightSums sums;
  sums.mass = mass;
  sums.abs_mass = mass;
  // total - 1, without the 1 of the largest.
  sums.log_sum_exp = log_one_plus((e.ones - 1.0) + e.first);
  sums.entropy = sums.log_sum_exp - e.shift * scale;
  sums.square = (e.ones + e.square) * factor * factor;
  sums.cube = (e.ones + e.cube) * factor * factor * factor;
  sums.rest_mass = e.first * factor;
  sums.rest_square = e.square * factor * factor;
  sums.rest_cube = e.cube * factor * factor * factor;
  sums.max_count = static_cast<Index>(e.ones);
  sums.max = factor;
  sums.min = e.min * factor;
  sums.max_logit = logits.max;
  sums.min_logit = logits.min;
  return sums;
}

// Returns the sums of weights that are all 0: their entropy is undefined.
inline WeightSums no_weights(std::size_t n, const Extremes& logits) {
  WeightSums sums;
  sums.entropy = kUndefined;
  sums.max_count = static_cast<Index>(n);
  sums.max_logit = logits.max;
  sums.min_logit = logits.min;
  return sums;
}

}  // namespace headgauge
