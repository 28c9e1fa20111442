// Finds the keys of a row by position.
#pragma once

#include <algorithm>
#include <optional>

#include "headgauge/measure.hpp"

namespace headgauge {

// Returns the number (0 to n - 1) of the row's first key at or after `position`; n if there is
// none.
inline Index first_key_from(const Row& row, Index position) {
  if (row.positions.empty()) return std::clamp(position - row.keys.begin, Index{0}, row.n());
  const auto found = std::ranges::lower_bound(row.positions, std::max(position, Index{0}), {},
                                              [](std::uint32_t key) { return Index{key}; });
  return found - row.positions.begin();
}

// Returns the number (0 to n - 1) of the row's key at `position`; nothing if the row does not see
// it.
inline std::optional<Index> find_key(const Row& row, Index position) {
  const Index i = first_key_from(row, position);
  return i < row.n() && row.key(i) == position ? std::optional(i) : std::nullopt;
}

}  // namespace headgauge
