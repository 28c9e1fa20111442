// Which of a row's keys stands at a position, or is the first beyond it.
#pragma once

#include <algorithm>
#include <optional>

#include "headgauge/measure.hpp"

namespace headgauge {

// Which of the n keys is the first at `position` or beyond; n where there is none.
inline Index first_key_from(const Row& row, Index position) {
  if (row.positions.empty()) return std::clamp(position - row.keys.begin, Index{0}, row.n());
  const auto found = std::ranges::lower_bound(row.positions, std::max(position, Index{0}), {},
                                              [](std::uint32_t key) { return Index{key}; });
  return found - row.positions.begin();
}

// Which of the n keys stands at `position`; nothing where the row does not see it.
inline std::optional<Index> find_key(const Row& row, Index position) {
  const Index i = first_key_from(row, position);
  return i < row.n() && row.key(i) == position ? std::optional(i) : std::nullopt;
}

}  // namespace headgauge
