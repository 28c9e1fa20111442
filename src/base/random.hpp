// Counter-based random numbers (Philox4x32-10, Salmon et al. 2011): a draw depends only on its
// key and counter, never on the order or the thread in which it is made. Normals are computed in
// float64 so that they do not depend on the SIMD level.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

namespace headgauge {

// The key words of the streams of a head, and of a row in a document.
constexpr std::uint32_t head_word(int layer, int head) {
  return static_cast<std::uint32_t>(layer * 65536 + head);
}
constexpr std::uint32_t row_word(std::int64_t row, int document) {
  return static_cast<std::uint32_t>(row + (std::int64_t{document} << 20));
}

// Domains of random numbers: each names what a stream is used for, and streams of different domains
// never coincide. A number that is free is not used again. The streams of a row of a head have a =
// head_word(), b = row_word().
enum class RandomDomain : std::uint32_t {
  sensitivity_direction = 1,  // for a row of a head
  sphere_points = 2,          // a = dimension, b = key position
  query_sampling = 4,         // a = document, b = position bin
  phantom = 5,
  pattern_random = 7,     // for a row of a head
  random_keys = 8,        // for a row of a head
  subsample = 9,          // a = point * 2 + (keys 0, queries 1), b = replicate + (document << 20)
  budget_keys = 10,       // a = document, b = draw
  bootstrap = 11,         // a = pair of metrics, b = resample
  synthetic_model = 12,   // a = which matrix
  synthetic_tokens = 13,  // a = scale * 65536 + point, b = replicate
  synthetic_reference = 14,         // a = 0, or 1 + scale, b = batch
  synthetic_uniform = 15,           // a = point, b = replicate; the net: a = 2^31, b = 0
  synthetic_hardmax = 16,           // a = point, b = replicate
  separability_pairing = 17,        // for a row of a head
  separability_pairing_local = 18,  // for a row of a head
  permuted_heads = 19,              // a = pair of quantities, b = draw
  drawn_rows = 20,   // a = layer * 65536 + head, b = first row of the group + (document << 20)
  sign_flips = 21,   // a = family of tests, b = flip
  dealt_plans = 22,  // a = draw
  task_case = 23,    // a = task, b = number of the case
  gates = 25,        // a = step of a search, b = head or layer
};

// A stream named by (seed, domain, a, b). Block i holds four 32-bit words, or two normals.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, RandomDomain domain, std::uint32_t a, std::uint32_t b)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        a_(a),
        b_(b),
        domain_(static_cast<std::uint32_t>(domain)) {}

  // Return the key and the counter of block i.
  std::array<std::uint32_t, 2> key() const { return key_; }
  std::array<std::uint32_t, 4> counter(std::uint32_t i) const { return {i, a_, b_, domain_}; }

  std::array<std::uint32_t, 4> block(std::uint32_t i) const {
    std::array<std::uint32_t, 4> c = counter(i);
    std::uint32_t k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
      c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<std::uint32_t>(p1),
           static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<std::uint32_t>(p0)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return c;
  }

  // Returns two uniforms in [0, 1) with 53 bits each.
  std::array<double, 2> uniforms(std::uint32_t i) const {
    const auto w = block(i);
    const auto unit = [](std::uint32_t lo, std::uint32_t hi) {
      return static_cast<double>(((std::uint64_t{hi} << 32) | lo) >> 11) * 0x1p-53;
    };
    return {unit(w[0], w[1]), unit(w[2], w[3])};
  }

  // Fills z[0..n) with standard normals by Box-Muller, two per block, starting at block `first`.
  void normals(std::span<double> z, std::uint32_t first = 0) const {
    for (std::size_t k = 0; k < z.size(); k += 2) {
      const auto [u1, u2] = uniforms(first + static_cast<std::uint32_t>(k / 2));
      const double radius = std::sqrt(-2.0 * std::log1p(-u1));
      const double angle = 2.0 * std::numbers::pi * u2;
      z[k] = radius * std::cos(angle);
      if (k + 1 < z.size()) z[k + 1] = radius * std::sin(angle);
    }
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t a_, b_, domain_;
};

// Puts the values into a random order (Fisher and Yates), each order equally likely.
template <class T>
void shuffle(std::vector<T>& values, const RandomStream& random) {
  for (std::size_t left = values.size(); left > 1; --left) {
    const double uniform = random.uniforms(static_cast<std::uint32_t>(left))[0];
    const auto place = static_cast<std::size_t>(uniform * static_cast<double>(left));
    std::swap(values[left - 1], values[std::min(place, left - 1)]);
  }
}

}  // namespace headgauge
