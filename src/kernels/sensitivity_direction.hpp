// The directions v, |v|_2 = 1, in which a row's logits are moved (docs/mathematics.md D4.2, 7a).
#pragma once

#include <cstdint>
#include <span>

namespace headgauge {

// Draws a uniform direction on the unit sphere: the normals of RandomStream(seed,
// sensitivity_direction, a, b), normalised.
void random_direction(std::uint64_t seed, std::uint32_t a, std::uint32_t b, std::span<double> v);

// Returns (e_1 - e_2)/sqrt 2 on the two largest logits; the lower index wins ties. Needs at least
// two logits.
void top2_direction(std::span<const float> logits, std::span<double> v);

}  // namespace headgauge
