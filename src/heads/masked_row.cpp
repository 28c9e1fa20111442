#include "heads/masked_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/non_finite.hpp"
#include "kernels/softmax.hpp"

namespace headgauge {
namespace {

std::string row_name(const HeadInput& head, Index query) {
  return fmt::format("layer {} head {} row {}", head.layer, head.head, query);
}

}  // namespace

KeptKeys select_keys(const HeadInput& head, Index query, KeyRange range,
                     std::span<const float> logits, std::vector<std::uint32_t>& positions) {
  const KeyMask* mask = head.visibility.mask();
  if (mask == nullptr) return {range, {}};
  mask->select(query, range, logits, positions);
  if (positions.empty()) {
    throw AttentionError(fault(mask->name() + " at " + row_name(head, query), "at least one key",
                               "none", "let every query see a key, such as its own"));
  }
  const auto not_after = [](std::uint32_t a, std::uint32_t b) { return a >= b; };
  const auto first = static_cast<Index>(positions.front());
  const auto last = static_cast<Index>(positions.back());
  if (first < range.begin || last >= range.end ||
      std::ranges::adjacent_find(positions, not_after) != positions.end()) {
    throw BadInputError(
        fault(mask->name() + " at " + row_name(head, query),
              fmt::format("keys from {} to {}, ascending, each once", range.begin, range.end - 1),
              fmt::format("{} keys from {} to {}", positions.size(), first, last),
              "correct KeyMask::select()"));
  }
  const KeyRange keys{first, last + 1};
  if (keys.size() == std::ssize(positions)) return {keys, {}};
  return {keys, positions};
}

bool sees_nothing(std::span<const float> logits) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  return std::ranges::all_of(logits, [](float l) { return l == kHidden; });
}

void require_finite(const HeadInput& head, Index query, KeyRange range,
                    std::span<const float> logits) {
  const Index bad = first_non_finite(logits);
  if (bad < 0) return;
  throw AttentionError(
      fault(fmt::format("layer {} head {}", head.layer, head.head), "finite attention scores",
            fmt::format("{} at query {}, key {}", name_of_non_finite(logits[bad]), query,
                        range.begin + bad),
            "the weights or the dump overflow float32 or are damaged: check their origin"));
}

void weigh_range(const HeadInput& head, Index query, KeyRange range, std::span<float> row,
                 RangeWorkspace& work) {
  const KeyMask* mask = head.visibility.mask();
  if (mask == nullptr && head.normalizer == nullptr) {
    softmax_row(row, row);
    return;
  }
  if (mask != nullptr && mask->needs_logits()) require_finite(head, query, range, row);
  const KeptKeys kept = select_keys(head, query, range, row, work.positions);
  const auto first = static_cast<std::size_t>(kept.keys.begin - range.begin);
  const auto begin = static_cast<std::uint32_t>(range.begin);
  if (kept.positions.empty()) {
    const auto keys = row.subspan(first, static_cast<std::size_t>(kept.keys.size()));
    work.logits.assign(keys.begin(), keys.end());
  } else {
    work.logits.clear();
    for (const std::uint32_t key : kept.positions) work.logits.push_back(row[key - begin]);
  }
  work.weights.resize(work.logits.size());
  if (head.normalizer == nullptr) {
    softmax_row(work.logits, work.weights);
  } else {
    head.normalizer->weigh(work.logits, {std::ssize(work.logits), query}, work.weights);
  }
  std::ranges::fill(row, 0.0f);
  if (kept.positions.empty()) {
    std::ranges::copy(work.weights, row.begin() + static_cast<std::ptrdiff_t>(first));
    return;
  }
  for (std::size_t i = 0; i < kept.positions.size(); ++i) {
    row[kept.positions[i] - begin] = work.weights[i];
  }
}

}  // namespace headgauge
