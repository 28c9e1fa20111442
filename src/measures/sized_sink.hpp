// Where metrics with dimension top_n put their values: the prefix sums go through the sizes in
// ascending order and once each, the option may name them in any order.
#pragma once

#include <span>
#include <vector>

#include "headgauge/measure.hpp"

namespace headgauge {

class SizedSink {
 public:
  // `places` lists, for each size in ascending order, where it stands in the option.
  SizedSink(RowSink& sink, std::span<const std::vector<Index>> places)
      : sink_(sink), places_(places) {}
  // Size number `size` of the metric whose cells begin at `first_cell`.
  void set(Index row, Index first_cell, int size, double value) {
    for (const Index place : places_[static_cast<std::size_t>(size)]) {
      sink_.set(row, first_cell + place, value);
    }
  }
  void set_cell(Index row, Index cell, double value) { sink_.set(row, cell, value); }

 private:
  RowSink& sink_;
  std::span<const std::vector<Index>> places_;
};

}  // namespace headgauge
