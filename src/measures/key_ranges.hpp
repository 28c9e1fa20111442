// Where a row's keys begin that stand at a position or beyond.
#pragma once

#include <algorithm>

#include "headgauge/measure.hpp"

namespace headgauge {

// Which of the n keys is the first at `position` or beyond; n where there is none.
inline Index first_key_from(const Row& row, Index position) {
  if (row.positions.empty()) return std::clamp(position - row.keys.begin, Index{0}, row.n());
  const auto found = std::ranges::lower_bound(row.positions, std::max(position, Index{0}), {},
                                              [](std::uint32_t key) { return Index{key}; });
  return found - row.positions.begin();
}

}  // namespace headgauge
