// From the logits of the keys in a query's range to the weights of those that its mask leaves: what
// a scan and a forward pass have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headgauge/heads.hpp"

namespace headgauge {

// The keys of a row: from the first to the last, and, where some between are hidden, each.
struct KeptKeys {
  KeyRange keys;
  std::span<const std::uint32_t> positions;  // ascending; empty: all of `keys`
};

// What the mask of `head` leaves of `range` to `query`; `logits` are those of the range, or empty
// for a mask that does not look at them. `positions` is what the result may point to. Throws
// BadInputError if no key is left, or if the mask gives what is not in the range, ascending.
KeptKeys select_keys(const HeadInput& head, Index query, KeyRange range,
                     std::span<const float> logits, std::vector<std::uint32_t>& positions);

// Throws UnsupportedError, which names what would change the head, where a mask hides keys of it
// already: two masks are not put together.
void require_all_keys(const HeadInput& head, const std::string& changed_by);

// Whether all logits of a row, which is not empty, are -Inf: it sees no key.
bool sees_nothing(std::span<const float> logits);

// Throws BadInputError that names the first logit of the range that is NaN or infinite, if any.
void require_finite(const HeadInput& head, Index query, KeyRange range,
                    std::span<const float> logits);

// Scratch memory of weigh_range(), one for each thread.
struct RangeWorkspace {
  std::vector<std::uint32_t> positions;
  std::vector<float> logits, weights;
};

// Replaces the logits of the keys of `range` by their weights under the head's normalizer (softmax
// if it has none), 0 for the keys that its mask hides. Its n is the number of keys left.
void weigh_range(const HeadInput& head, Index query, KeyRange range, std::span<float> row,
                 RangeWorkspace& work);

}  // namespace headgauge
