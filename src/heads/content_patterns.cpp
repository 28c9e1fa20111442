// Patterns that depend on the content of the keys: LSH buckets, and the oracle that keeps the
// largest logits.
#include <fmt/format.h>

#include "base/random.hpp"
#include "heads/pattern_families.hpp"
#include "kernels/top.hpp"

namespace headgauge {
namespace {

// Computes the bucket number of every row in one round: argmax over [xR; -xR], R of d x buckets/2
// iid normals (Andoni et al. 2015); the lowest index wins ties. Uses float64, so that buckets do
// not depend on the SIMD level.
class Rotation {
 public:
  Rotation(Index dimension, Index buckets, std::uint64_t seed, std::uint32_t head, int round)
      : columns_(static_cast<std::size_t>(buckets / 2)),
        entries_(static_cast<std::size_t>(dimension) * columns_),
        turned_(columns_) {
    RandomStream(seed, RandomDomain::lsh_rotation, head, static_cast<std::uint32_t>(round))
        .normals(entries_);
  }
  void hash(MatrixView<const float> rows, std::span<std::uint16_t> bucket) {
    for (Index r = 0; r < rows.rows(); ++r) {
      std::ranges::fill(turned_, 0.0);
      for (std::size_t d = 0; d < rows.row(r).size(); ++d) {
        const double x = rows.row(r)[d];
        const double* entry = entries_.data() + d * columns_;
        for (std::size_t c = 0; c < columns_; ++c) turned_[c] += x * entry[c];
      }
      bucket[static_cast<std::size_t>(r)] = largest();
    }
  }

 private:
  std::uint16_t largest() const {
    if (columns_ == 0) return 0;  // one bucket
    const auto [low, high] = std::ranges::minmax_element(turned_);
    const double most = std::max(*high, -*low);
    for (std::size_t c = 0; c < columns_; ++c) {
      if (turned_[c] == most) return static_cast<std::uint16_t>(c);
    }
    const auto negative = std::ranges::find(turned_, -most) - turned_.begin();
    return static_cast<std::uint16_t>(columns_ + static_cast<std::size_t>(negative));
  }

  std::size_t columns_;
  std::vector<double> entries_;
  std::vector<double> turned_;
};

class LshMask final : public KeyMask {
 public:
  // Indexed by round, then position.
  using Buckets = std::vector<std::vector<std::uint16_t>>;
  LshMask(Buckets queries, Buckets keys) : queries_(std::move(queries)), keys_(std::move(keys)) {}
  std::string name() const override { return "lsh"; }
  void select(Index query, KeyRange range, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    thread_local std::vector<std::uint8_t> meets;
    const auto n = static_cast<std::size_t>(range.size());
    meets.assign(n, 0);
    for (std::size_t round = 0; round < keys_.size(); ++round) {
      const std::uint16_t own = queries_[round][static_cast<std::size_t>(query)];
      const std::uint16_t* bucket = keys_[round].data() + range.begin;
      for (std::size_t j = 0; j < n; ++j) meets[j] |= bucket[j] == own ? 1 : 0;
    }
    if (query >= range.begin && query < range.end) {
      meets[static_cast<std::size_t>(query - range.begin)] = 1;
    }
    keys.clear();
    for (std::size_t j = 0; j < n; ++j) {
      if (meets[j] != 0)
        keys.push_back(static_cast<std::uint32_t>(range.begin) + static_cast<std::uint32_t>(j));
    }
  }

 private:
  Buckets queries_, keys_;
};

class Lsh final : public Pattern {
 public:
  Lsh(PatternInfo info, Index buckets, int rounds, std::uint64_t seed)
      : info_(std::move(info)), buckets_(buckets), rounds_(rounds), seed_(seed) {}
  const PatternInfo& info() const override { return info_; }
  std::shared_ptr<const KeyMask> mask(const HeadInput& head) const override {
    if (head.queries.empty() || head.keys.empty()) {
      throw UsageError(fault("pattern lsh", "queries and keys", "a source that holds scores alone",
                             "this pattern hashes queries and keys: give a dump with them"));
    }
    LshMask::Buckets queries, keys;
    const auto number = head_word(head.layer, head.head);
    for (int round = 0; round < rounds_; ++round) {
      Rotation rotation(head.keys.cols(), buckets_, seed_, number, round);
      rotation.hash(head.queries,
                    queries.emplace_back(static_cast<std::size_t>(head.queries.rows())));
      rotation.hash(head.keys, keys.emplace_back(static_cast<std::size_t>(head.keys.rows())));
    }
    return std::make_shared<LshMask>(std::move(queries), std::move(keys));
  }

 private:
  PatternInfo info_;
  Index buckets_;
  int rounds_;
  std::uint64_t seed_;
};

class TopKeysMask final : public KeyMask {
 public:
  explicit TopKeysMask(Index k) : k_(k) {}
  std::string name() const override { return "topk"; }
  bool needs_logits() const override { return true; }
  void select(Index, KeyRange range, std::span<const float> logits,
              std::vector<std::uint32_t>& keys) const override {
    thread_local TopWorkspace work;
    keys.resize(static_cast<std::size_t>(std::min(k_, range.size())));
    select_top(logits, static_cast<Index>(keys.size()), keys, work);
    for (std::uint32_t& key : keys) key += static_cast<std::uint32_t>(range.begin);
    std::ranges::sort(keys);
  }

 private:
  Index k_;
};

class TopKeys final : public Pattern {
 public:
  TopKeys(PatternInfo info, Index k) : info_(std::move(info)), k_(k) {}
  const PatternInfo& info() const override { return info_; }
  std::shared_ptr<const KeyMask> mask(const HeadInput&) const override {
    return std::make_shared<TopKeysMask>(k_);
  }
  std::string notice(const SourceInfo& source, Index longest) const override {
    Index fewest = longest;
    for (Index d = 0; d < std::ssize(source.documents); ++d) {
      if (source.is_measured(d)) fewest = std::min(fewest, source.documents[d]);
    }
    if (source.causal) fewest = std::min<Index>(fewest, 1);
    if (k_ <= fewest) return {};
    return fmt::format("topk: k = {} exceeds the number of keys of {}; these rows keep all keys",
                       k_, source.causal ? "the first rows" : "some rows");
  }

 private:
  PatternInfo info_;
  Index k_;
};

}  // namespace

PatternEntries content_patterns() {
  return {
      {{"lsh",
        "the query's own key, and the keys in the same bucket (argmax [xR; -xR], R random) in any "
        "of `rounds` rounds",
        // There is one bucket of all keys, or an even number of them, for x and -x.
        {{.key = "buckets",
          .initial = 16.0,
          .domain = NumberDomain{.lowest = 2, .highest = 65536, .whole = true, .even = true},
          .words = {"1"}},
         {.key = "rounds",
          .initial = 4.0,
          .domain = NumberDomain{.lowest = 1, .highest = 64, .whole = true}},
         {.key = "seed", .initial = 0.0, .domain = kSeed}},
        "Reformer; Kitaev et al. 2020"},
       [](const PatternInfo& info) -> std::unique_ptr<Pattern> {
         const Parameters& p = info.parameters;
         const Index buckets = p.is_number("buckets") ? p.whole("buckets") : 1;
         return std::make_unique<Lsh>(info, buckets, static_cast<int>(p.whole("rounds")),
                                      static_cast<std::uint64_t>(p.whole("seed")));
       }},
      {{.name = "topk",
        .formula = "the `k` keys with the largest logits (earlier keys win ties): an oracle, "
                   "because it needs all logits",
        .parameters = {{.key = "k", .initial = 64.0, .domain = kPositiveCount}},
        .source = "the best that k keys can do; docs/patterns.md",
        .by_weight = true},
       [](const PatternInfo& info) -> std::unique_ptr<Pattern> {
         return std::make_unique<TopKeys>(info, info.parameters.whole("k"));
       }},
  };
}

}  // namespace headgauge
