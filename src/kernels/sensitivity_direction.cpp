#include "kernels/sensitivity_direction.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/random.hpp"

namespace headgauge {

void random_direction(std::uint64_t seed, std::uint32_t a, std::uint32_t b, std::span<double> v) {
  RandomStream(seed, RandomDomain::sensitivity_direction, a, b).normals(v);
  double square = 0;
  for (double z : v) square += z * z;
  const double scale = 1 / std::sqrt(square);
  for (double& z : v) z *= scale;
}

void top2_direction(std::span<const float> logits, std::span<double> v) {
  assert(logits.size() >= 2 && logits.size() == v.size());
  std::size_t first = 0, second = 1;
  if (logits[1] > logits[0]) std::swap(first, second);
  for (std::size_t i = 2; i < logits.size(); ++i) {
    if (logits[i] > logits[first]) {
      second = first;
      first = i;
    } else if (logits[i] > logits[second]) {
      second = i;
    }
  }
  std::ranges::fill(v, 0.0);
  v[first] = 0.5 * std::numbers::sqrt2;
  v[second] = -v[first];
}

}  // namespace headgauge
