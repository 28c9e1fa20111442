#include "kernels/ridge.hpp"

#include "normalize/ridge.hpp"

namespace headgauge {

double ridge_spectral_norm(std::span<const float> r) {
  return ridge_root(r, two_largest(r));
}

}  // namespace headgauge
