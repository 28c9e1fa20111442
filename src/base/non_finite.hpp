// The names of values that are not finite, for messages.
#pragma once

#include <cmath>

namespace headgauge {

// The sign of a NaN has no meaning and is omitted.
inline const char* name_of_non_finite(float value) {
  return std::isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
}

}  // namespace headgauge
