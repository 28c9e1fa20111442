// Rows drawn from groups of neighbours, for what is too costly to measure on all rows.
#pragma once

#include <algorithm>

#include "base/random.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

// How many rows a row stands for: those of its group where it is the one that is drawn from it,
// else none. `random` is the same for all rows of a group.
inline Index drawn_for(const RowGroup& group, const RandomStream& random) {
  const double place = random.uniforms(0)[0] * static_cast<double>(group.rows);
  return group.place == static_cast<Index>(place) ? group.rows : 0;
}

}  // namespace headgauge
