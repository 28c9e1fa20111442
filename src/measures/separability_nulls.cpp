#include "measures/separability_nulls.hpp"

#include <algorithm>
#include <cmath>
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

double largest_outside(const SelectionBlock::Line& line, int size) {
  float largest = 0;
  for (Index j = 0; j < std::ssize(line.attention); ++j) {
    if (line.rank[j] >= size) largest = std::max(largest, line.attention[j]);
  }
  return largest;
}

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

SelectionRequest null_plan(const SelectionRequest& plan, bool unit_sphere) {
  SelectionRequest null;
  null.sizes = plan.sizes;
  null.shares = plan.shares;
  null.longest = plan.longest;
  null.distance = false;
  null.unit_sphere = unit_sphere;
  null.seed = plan.seed;
  return null;
}

void SeparabilityNulls::begin(const RowBlock& rows, const NullSpaces& spaces) {
  rows_ = &rows;
  spaces_ = &spaces;
  deal();
  place_on_sphere();
  any_.block.begin(any_rows_.block(), spaces.text, spaces.plan);
  local_.block.begin(local_rows_.block(), spaces.text, spaces.plan);
  sphere_.block.begin({rows.head, rows.normalizer, sphere_rows_},
                      spaces.all ? spaces.sphere : spaces.text, spaces.sphere_plan);
}

bool SeparabilityNulls::has(Index r, Index every) const {
  const SelectionRequest& plan = spaces_->plan;
  const Row& row = rows_->rows[r];
  if ((row.query + rows_->head->head) % every != 0 || plan.count() == 0) return false;
  return row.n() > (plan.shares.empty() ? plan.sizes.front() : 1);
}

bool SeparabilityNulls::has_others(Index r, Index every) const {
  return spaces_->all && has(r, every);
}

// Every row of every head has its own draws, so that their noise is independent between rows and
// heads, as the standard errors assume.
RandomStream SeparabilityNulls::random(Index r, RandomDomain domain) const {
  const HeadInput& head = *rows_->head;
  const Index query = rows_->rows[r].query;
  return {spaces_->plan.seed, domain, head_word(head.layer, head.head),
          row_word(query, head.document)};
}

// Puts the rows that also have the sphere first.
void SeparabilityNulls::deal() {
  const Index depth = spaces_->plan.depth();
  any_rows_.begin(*rows_, depth);
  local_rows_.begin(*rows_, depth);
  for (const bool on_sphere : {true, false}) {
    for (Index r = 0; r < rows_->size(); ++r) {
      if (!has(r, kNullRows) || has_others(r, kSphereRows) != on_sphere) continue;
      any_rows_.add(r, Pairing::any, random(r, RandomDomain::separability_pairing));
    }
  }
  for (Index r = 0; r < rows_->size(); ++r) {
    if (!has_others(r, kLocalRows)) continue;
    local_rows_.add(r, Pairing::local, random(r, RandomDomain::separability_pairing_local));
  }
}

// The keys of a row take neighbouring points, starting at a random one: all heads share the points,
// and rows with few keys would otherwise all have the same points.
void SeparabilityNulls::place_on_sphere() {
  constexpr Index kBlockWords = 4;
  sphere_rows_.clear();
  const std::span<const Row> rows = any_rows_.block().rows;
  for (Index i = 0; i < std::ssize(rows) && has_others(any_rows_.source(i), kSphereRows); ++i) {
    Row row = rows[i];
    const Index n = row.n();
    // Uses the word after those of the permutation.
    const auto words = random(any_rows_.source(i), RandomDomain::separability_pairing)
                           .block(static_cast<std::uint32_t>(n / kBlockWords));
    const auto choices = static_cast<std::uint64_t>(spaces_->sphere.gram->columns() - n + 1);
    const auto first = static_cast<Index>((choices * words[n % kBlockWords]) >> 32);
    row.keys = {first, first + n};
    row.positions = {};
    sphere_rows_.push_back(row);
  }
}

void SeparabilityNulls::gather(std::vector<PrefixSums>& prefixes) {
  any_.sums.gather(any_.block, prefixes);
  local_.sums.gather(local_.block, prefixes);
  sphere_.sums.sum(sphere_.block);
}

void SeparabilityNulls::measure(MatrixView<const int> found, const Metrics& metrics,
                                RowSink& sink) {
  separate(any_, any_rows_, found, metrics.any, sink);
  separate(local_, local_rows_, found, metrics.local, sink);
  separate(sphere_, any_rows_, found, metrics.sphere, sink);
}

bool SeparabilityNulls::bounded(const NullMetrics& metrics) const {
  return metrics.lower && !spaces_->moments.empty();
}

void SeparabilityNulls::separate(Null& null, const PairedRows& paired, MatrixView<const int> found,
                                 const NullMetrics& metrics, RowSink& sink) {
  const SelectionRequest& plan = null.block.plan();
  const bool with_bound = bounded(metrics);
  for (Index i = 0; i < null.block.rows(); ++i) {
    const Index r = paired.source(i);
    const KeyMoments moments = with_bound ? spaces_->moments[rows_->rows[r].query] : KeyMoments{};
    separator_.begin(null.sums, i, rows_->rows[r], *rows_->normalizer, paired.pairing(i));
    for (int s = 0; s < null.block.line(i).sizes; ++s) {
      if (!plan.stands_for(s, null.block.line(i).n)) continue;
      const int count = separator_.separate(s).distinguishable;
      const int members = null.block.sizes_of(i)[s];
      const auto size = static_cast<double>(members);
      sink.set(r, metrics.value, s, count / size);
      sink.set(r, metrics.excess, s, (found(r, s) - count) / size);
      if (std::isnan(moments.cosine)) continue;
      const auto weights = null.block.member_weights(i, PrefixKind::attention).first(members);
      sink.set(
          r, metrics.lower, s,
          dealt_separability_lower(weights, largest_outside(null.block.line(i), members), moments));
    }
  }
}

}  // namespace headgauge
