#include "measures/candidates.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace headgauge {

bool comes_before(const Example& a, const Example& b) {
  return std::tuple(-a.value, a.document, a.query) < std::tuple(-b.value, b.document, b.query);
}

std::vector<Example>::const_iterator Candidates::of_same_stretch(const Example& row) const {
  return std::ranges::find_if(rows_, [&](const Example& other) {
    return other.document == row.document && other.query / kStretch == row.query / kStretch;
  });
}

bool Candidates::wants(const Example& row) const {
  const bool full = std::ssize(rows_) == most_;
  if (full && !comes_before(row, rows_.back())) return false;
  const auto same = of_same_stretch(row);
  return same == rows_.end() || comes_before(row, *same);
}

void Candidates::add(Example row) {
  if (!wants(row)) return;
  if (const auto same = of_same_stretch(row); same != rows_.end()) rows_.erase(same);
  rows_.insert(std::ranges::lower_bound(rows_, row, comes_before), std::move(row));
  if (std::ssize(rows_) > most_) rows_.pop_back();
}

}  // namespace headgauge
