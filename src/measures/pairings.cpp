#include "measures/pairings.hpp"

#include <algorithm>
#include <numeric>

#include "kernels/random_words.hpp"
#include "measures/grow.hpp"

namespace headgauge {
namespace {

// The values by which the top set of a row is selected (see HeadScanner); equal values are ties.
class Ranking {
 public:
  Ranking(const Row& row, const NormalizerTraits& traits)
      : values_(traits.increasing ? row.logits : row.weights) {}
  bool tied(Index a, Index b) const { return values_[a] == values_[b]; }
  Index count_tied(Index a) const { return std::ranges::count(values_, values_[a]); }

 private:
  std::span<const float> values_;
};

}  // namespace

// Word number s of the stream picks a partner for key n - 1 - s among the keys up to itself. 32
// bits favour no partner by more than n / 2^32.
void draw_pairing(Pairing pairing, const RandomStream& random, std::span<std::uint32_t> to,
                  std::vector<std::uint32_t>& words) {
  const Index n = std::ssize(to);
  std::iota(to.begin(), to.end(), std::uint32_t{0});
  words.resize(n);
  random_words(random, words);
  const Index block = pairing == Pairing::any ? n : kPairingBlock;
  const std::uint32_t* word = words.data();
  for (Index end = n; end > 0; end -= block) {
    const Index first = std::max<Index>(0, end - block);
    for (Index last = end - 1; last >= first; --last) {
      const auto choices = static_cast<std::uint64_t>(last - first + 1);
      std::swap(to[last], to[first + static_cast<Index>((choices * *word++) >> 32)]);
    }
  }
}

void PairedRows::begin(const RowBlock& block, Index depth) {
  block_ = block;
  depth_ = depth;
  stride_ = 0;
  for (const Row& row : block.rows) stride_ = std::max(stride_, row.n());
  rows_.clear();
  source_.clear();
  // Views point into these, so they must not be reallocated.
  grow(weights_, block.size() * stride_);
  grow(to_, block.size() * stride_);
  grow(top_, block.size() * depth_);
}

void PairedRows::add(Index r, Pairing pairing, const RandomStream& random) {
  const Row& from = block_.rows[r];
  const Index i = std::ssize(rows_), n = from.n();
  const auto to = std::span(to_).subspan(i * stride_, n);
  const auto weights = std::span(weights_).subspan(i * stride_, n);
  draw_pairing(pairing, random, to, words_);
  for (Index j = 0; j < n; ++j) weights[to[j]] = from.weights[j];
  const auto top = std::span(top_).subspan(i * depth_, std::min<Index>(depth_, from.top.size()));
  rank(from, to, top);
  Row row = from;
  row.logits = {};
  row.weights = weights;
  row.top = top;
  rows_.push_back(row);
  source_.push_back(r);
}

// The members of the top set move with their weights; of equal weights the lower keys come first.
void PairedRows::rank(const Row& row, std::span<const std::uint32_t> to,
                      std::span<std::uint32_t> top) {
  const Ranking ranking(row, block_.normalizer->traits());
  const Index count = std::ssize(top);
  for (Index k = 0; k < count; ++k) top[k] = to[row.top[k]];
  Index first = 0;
  for (Index end = 1; end < count; ++end) {
    if (ranking.tied(row.top[end], row.top[first])) continue;
    if (end - first > 1) std::ranges::sort(top.subspan(first, end - first));
    first = end;
  }
  // The last members may be tied with keys outside the set.
  if (count == 0) return;
  const Index tied = ranking.count_tied(row.top[first]);
  if (tied == count - first) {
    if (tied > 1) std::ranges::sort(top.subspan(first));
    return;
  }
  tied_.clear();
  for (Index j = 0; j < row.n(); ++j) {
    if (ranking.tied(j, row.top[first])) tied_.push_back(to[j]);
  }
  std::ranges::partial_sort(tied_, tied_.begin() + (count - first));
  std::copy_n(tied_.begin(), count - first, top.begin() + first);
}

}  // namespace headgauge
