#pragma once

#include <iterator>

#include "headgauge/base.hpp"

namespace headgauge {

// Makes a reused vector at least this long.
template <class Vector>
void grow(Vector& vector, Index size) {
  if (std::ssize(vector) < size) vector.resize(size);
}

}  // namespace headgauge
