// The keys that a pattern leaves to the rows of a head, asked row by row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headgauge/array.hpp"
#include "headgauge/patterns.hpp"
#include "normal_rows.hpp"

namespace headgauge {

using Keys = std::vector<std::uint32_t>;

// A head without tensors: all that patterns of positions look at.
inline HeadInput bare_head(Visibility visibility = Visibility::causal()) {
  HeadInput head;
  head.visibility = std::move(visibility);
  return head;
}

// The keys that `mask` leaves to `query` of a text of `length` tokens.
inline Keys asked(const KeyMask& mask, const HeadInput& head, Index query, Index length,
                  std::span<const float> logits = {}) {
  Keys keys{7, 7, 7};  // what select() finds there must not matter
  mask.select(query, head.visibility.range(query, length), logits, keys);
  return keys;
}

inline Keys asked(const std::string& spec, const HeadInput& head, Index query, Index length) {
  return asked(*make_pattern(spec)->mask(head), head, query, length);
}

// The keys of a head's own range for which `sees(query, key)` holds.
template <class Sees>
Keys brute(const HeadInput& head, Index query, Index length, const Sees& sees) {
  Keys keys;
  for (Index key = 0; key < length; ++key) {
    if (head.visibility.sees(query, key, length) && sees(query, key)) {
      keys.push_back(static_cast<std::uint32_t>(key));
    }
  }
  return keys;
}

}  // namespace headgauge
