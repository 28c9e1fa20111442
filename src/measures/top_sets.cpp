#include "measures/top_sets.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

namespace headgauge {
namespace {

constexpr Index kBits = 64;
constexpr float kTie = 1e-4f;  // weights nearer than this share are tied (docs/mathematics.md 7a)

constexpr std::uint32_t kNarrow = 65535;  // positions up to here take 16 bits in a journal

// A set in a journal, before its members and their bits.
struct SetHead {
  std::int32_t query = 0;
  std::int32_t head = 0;
  std::int32_t n = 0;
  std::int32_t clear = 0;
  std::int32_t members = 0;
};

Index words_for(int size) {
  return (size + kBits - 1) / kBits;
}

}  // namespace

int count_clear(const Row& row, int size) {
  if (row.n() <= size) return 0;
  const auto weight = [&](int rank) { return std::abs(row.weights[row.top[rank]]); };
  const float limit = (1 + kTie) * weight(size);
  int clear = 0;
  while (clear < size && weight(clear) > limit) ++clear;
  return clear;
}

TopSets::TopSets(std::vector<int> sizes, int slots) : sizes_(std::move(sizes)), kept_(slots) {
  for (const int size : sizes_) {
    first_word_.push_back(words_);
    words_ += words_for(size);
  }
}

std::size_t TopSets::bytes(std::span<const int> sizes) {
  Index words = 0;
  for (const int size : sizes) words += words_for(size);
  const int largest = std::max(kOverlapSize, sizes.empty() ? 0 : sizes.back());
  return sizeof(TopSet) + largest * sizeof(std::uint32_t) + words * sizeof(std::uint64_t);
}

void TopSets::begin_head(const HeadInput& head) {
  document_ = head.document;
  head_ = head.head;
}

void TopSets::add_row(int slot, const Row& row) {
  Kept& kept = kept_[slot];
  kept.sets.push_back({document_, row.query, head_, row.n(), count_clear(row, kOverlapSize), slot,
                       std::ssize(kept.members), std::ssize(kept.words)});
  Index count = kOverlapSize;
  for (const int size : sizes_) {
    if (size < row.n()) count = std::max<Index>(count, size);
  }
  for (const std::uint32_t number : row.top.first(std::min(count, std::ssize(row.top)))) {
    kept.members.push_back(static_cast<std::uint32_t>(row.key(number)));
  }
  kept.words.resize(kept.words.size() + words_, 0);
}

void TopSets::add_distinguishable(int slot, int size, std::span<const std::uint64_t> members) {
  Kept& kept = kept_[slot];
  std::ranges::copy(members, kept.words.begin() + kept.sets.back().first_word + first_word_[size]);
}

std::vector<TopSet> TopSets::sorted() const {
  std::vector<TopSet> sets;
  for (const Kept& kept : kept_) sets.insert(sets.end(), kept.sets.begin(), kept.sets.end());
  std::ranges::sort(sets, {},
                    [](const TopSet& s) { return std::tuple(s.document, s.query, s.head); });
  return sets;
}

std::span<const std::uint32_t> TopSets::members(const TopSet& set, int count) const {
  return std::span(kept_[set.slot].members).subspan(set.first_member, count);
}

bool TopSets::is_distinguishable(const TopSet& set, int size, Index rank) const {
  const Index word = set.first_word + first_word_[size] + rank / kBits;
  return (kept_[set.slot].words[word] >> (rank % kBits) & 1) != 0;
}

void TopSets::clear() {
  for (Kept& kept : kept_) {
    kept.sets.clear();
    kept.members.clear();
    kept.words.clear();
  }
}

void TopSets::write(int document, ByteWriter& part) const {
  for (const Kept& kept : kept_) {
    for (auto set = kept.sets.rbegin(); set != kept.sets.rend(); ++set) {
      if (set->document != document) break;
      const bool last = set == kept.sets.rbegin();
      const Index end = last ? std::ssize(kept.members) : std::prev(set)->first_member;
      const auto members = std::span(kept.members)
                               .subspan(static_cast<std::size_t>(set->first_member),
                                        static_cast<std::size_t>(end - set->first_member));
      part.put(true);
      part.put(SetHead{static_cast<std::int32_t>(set->query), set->head,
                       static_cast<std::int32_t>(set->n), set->clear,
                       static_cast<std::int32_t>(members.size())});
      const bool narrow = std::ranges::all_of(members, [](auto key) { return key <= kNarrow; });
      part.put(narrow);
      if (narrow) {
        const std::vector<std::uint16_t> keys(members.begin(), members.end());
        part.put_all(std::span<const std::uint16_t>(keys));
      } else {
        part.put_all(members);
      }
      part.put_all(std::span(kept.words)
                       .subspan(static_cast<std::size_t>(set->first_word),
                                static_cast<std::size_t>(words_)));
    }
  }
  part.put(false);
}

void TopSets::read(int document, ByteReader& part) {
  Kept& kept = kept_.front();
  while (part.take<bool>()) {
    const auto head = part.take<SetHead>();
    kept.sets.push_back({document, head.query, head.head, head.n, head.clear, 0,
                         std::ssize(kept.members), std::ssize(kept.words)});
    const auto count = static_cast<std::size_t>(head.members);
    const auto add = [&](const auto& members) {
      kept.members.insert(kept.members.end(), members.begin(), members.end());
    };
    part.take<bool>() ? add(part.take_some<std::uint16_t>(count))
                      : add(part.take_some<std::uint32_t>(count));
    const auto words = part.take_some<std::uint64_t>(static_cast<std::size_t>(words_));
    kept.words.insert(kept.words.end(), words.begin(), words.end());
  }
}

}  // namespace headgauge
