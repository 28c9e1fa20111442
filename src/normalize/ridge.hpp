// The spectral norm of a ridge Jacobian.
#pragma once

#include <span>

namespace headgauge {

// Computes the largest eigenvalue of diag(r) - r r^T / sum r for r >= 0: the root of sum r_i/(r_i -
// lam) = 0 between the two largest r, to 1e-12 (docs/mathematics.md 7a).
double ridge_spectral_norm(std::span<const float> r);

}  // namespace headgauge
