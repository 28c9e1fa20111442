// Draws one row from each group of neighbours, for measures that are too costly for all rows.
#pragma once

#include "base/random.hpp"
#include "headgauge/measure.hpp"

namespace headgauge {

// Returns how many rows a row represents: all of its group if it is the drawn one, else none.
// `random` is the same for all rows of a group.
inline Index drawn_for(const RowGroup& group, const RandomStream& random) {
  const double place = random.uniforms(0)[0] * static_cast<double>(group.rows);
  return group.place == static_cast<Index>(place) ? group.rows : 0;
}

}  // namespace headgauge
