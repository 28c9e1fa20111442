// What messages call a value that is not finite.
#pragma once

#include <cmath>

namespace headgauge {

// The sign of a NaN says nothing, and is left out.
inline const char* name_of_non_finite(float value) {
  return std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

}  // namespace headgauge
