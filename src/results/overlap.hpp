// Where two results hold the same labels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// The places of one label in the old and in the new coordinate.
struct SharedLabel {
  Index before = 0;
  Index after = 0;
};

// The labels that both have, in the order of the new one; numbers agree to 1e-9 relative. A
// position stands for the rows since the one before it, and is shared where both are.
std::vector<SharedLabel> shared_labels(std::string_view name, const Coordinate& before,
                                       const Coordinate& after);

// The labels at these places.
Coordinate labels_at(const Coordinate& coord, const std::vector<Index>& places);

// One label: "1024", "0.1", "ssmax".
std::string label_text(const Coordinate& coord, Index place);

// Many of them in few words: "0-5, 7", "32, 64, 128 and 3 more".
std::string labels_text(const Coordinate& coord);

// Text from a file for a message of one line: control characters become "?".
std::string legible(std::string text);

// Visits all cells of nested loops of these sizes, in order, with the index along each.
template <class Visit>
void each_cell(const std::vector<Index>& sizes, const Visit& visit) {
  std::vector<Index> cell(sizes.size(), 0);
  for (const Index size : sizes) {
    if (size == 0) return;
  }
  while (true) {
    visit(cell);
    std::size_t k = sizes.size();
    while (k > 0 && ++cell[k - 1] == sizes[k - 1]) cell[--k] = 0;
    if (k == 0) return;
  }
}

}  // namespace headgauge
