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

// Selects the keys of a row that the head's mask keeps, and copies their logits.
KeptKeys keep_logits(const HeadInput& head, Index query, KeyRange range, std::span<const float> row,
                     std::vector<std::uint32_t>& positions, std::vector<float>& logits) {
  const KeyMask* mask = head.visibility.mask();
  if (mask != nullptr && mask->needs_logits()) require_finite(head, query, range, row);
  const KeptKeys kept = select_keys(head, query, range, row, positions);
  if (kept.positions.empty()) {
    const auto keys = row.subspan(static_cast<std::size_t>(kept.keys.begin - range.begin),
                                  static_cast<std::size_t>(kept.keys.size()));
    logits.assign(keys.begin(), keys.end());
    return kept;
  }
  const auto begin = static_cast<std::uint32_t>(range.begin);
  logits.clear();
  for (const std::uint32_t key : kept.positions) logits.push_back(row[key - begin]);
  return kept;
}

// Sets the weights of the kept keys of a row, and those of the others to 0.
void set_weights(const KeptKeys& kept, KeyRange range, std::span<const float> weights,
                 std::span<float> row) {
  std::ranges::fill(row, 0.0f);
  if (kept.positions.empty()) {
    std::ranges::copy(weights, row.begin() + (kept.keys.begin - range.begin));
    return;
  }
  const auto begin = static_cast<std::uint32_t>(range.begin);
  for (std::size_t i = 0; i < kept.positions.size(); ++i) {
    row[kept.positions[i] - begin] = weights[i];
  }
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
  const KeptKeys kept = keep_logits(head, query, range, row, work.positions, work.logits);
  work.weights.resize(work.logits.size());
  if (head.normalizer == nullptr) {
    softmax_row(work.logits, work.weights);
  } else {
    head.normalizer->weigh(work.logits, {std::ssize(work.logits), query}, work.weights);
  }
  set_weights(kept, range, work.weights, row);
}

void weigh_ranges(const HeadInput& head, std::span<const RangeRow> rows, RangeWorkspace& work) {
  if (head.normalizer == nullptr || !head.normalizer->traits().in_blocks) {
    for (const RangeRow& row : rows) weigh_range(head, row.query, row.range, row.row, work);
    return;
  }
  const std::size_t count = rows.size();
  std::vector<std::vector<std::uint32_t>> positions(count);
  std::vector<std::vector<float>> weights(count);  // first the logits
  std::vector<KeptKeys> kept;
  std::vector<WeighedRow> weighed;
  for (std::size_t r = 0; r < count; ++r) {
    const auto& [query, range, row] = rows[r];
    kept.push_back(keep_logits(head, query, range, row, positions[r], weights[r]));
    weighed.push_back({weights[r], {std::ssize(weights[r]), query}, weights[r]});
  }
  head.normalizer->weigh_rows(weighed);
  for (std::size_t r = 0; r < count; ++r) {
    set_weights(kept[r], rows[r].range, weights[r], rows[r].row);
  }
}

}  // namespace headgauge
