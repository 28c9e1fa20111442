// Computes weights on the keys that a mask keeps from the logits of a query's range; scans and
// forward passes share this code.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headgauge/heads.hpp"

namespace headgauge {

// The keys of a row: the range from the first to the last, and each key if some in the range are
// hidden.
struct KeptKeys {
  KeyRange keys;
  std::span<const std::uint32_t> positions;  // ascending; empty if all of `keys` are kept
};

// Returns the keys of `range` that the mask of `head` keeps for `query`. `logits` are those of the
// range, or empty for a mask that does not read them. The result may point into `positions`. Throws
// BadInputError if no key is kept, or if the mask returns keys that are not ascending or not in the
// range.
KeptKeys select_keys(const HeadInput& head, Index query, KeyRange range,
                     std::span<const float> logits, std::vector<std::uint32_t>& positions);

// Throws UnsupportedError, which names what would change the head, if the head already has a mask:
// two masks cannot be combined.
void require_all_keys(const HeadInput& head, const std::string& changed_by);

// Returns whether all logits of a row, which is not empty, are -Inf: the query sees no key.
bool sees_nothing(std::span<const float> logits);

// Throws BadInputError that names the first logit of the range that is NaN or infinite.
void require_finite(const HeadInput& head, Index query, KeyRange range,
                    std::span<const float> logits);

// Scratch memory of weigh_range(); each thread has its own.
struct RangeWorkspace {
  std::vector<std::uint32_t> positions;
  std::vector<float> logits, weights;
};

// Replaces the logits of the keys of `range` by their weights under the head's normalizer (softmax
// if it has none), and by 0 for keys that its mask hides. n is the number of keys kept.
void weigh_range(const HeadInput& head, Index query, KeyRange range, std::span<float> row,
                 RangeWorkspace& work);

struct RangeRow {
  Index query = 0;
  KeyRange range;
  std::span<float> row;  // logits, then weights
};
// Does weigh_range() for each row, in one call of a normalizer that takes blocks.
void weigh_ranges(const HeadInput& head, std::span<const RangeRow> rows, RangeWorkspace& work);

}  // namespace headgauge
