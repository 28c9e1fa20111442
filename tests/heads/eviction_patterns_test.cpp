// Patterns that follow a cache, against the published rules, written down a second time: every
// token looks at all keys held, and one of them goes.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "headgauge/array.hpp"
#include "headgauge/patterns.hpp"
#include "heads/asked_masks.hpp"

namespace headgauge {
namespace {

constexpr Index kLength = 90, kSize = 6;

// Heads that share keys, by default two.
class Group {
 public:
  explicit Group(std::uint32_t seed, int heads = 2)
      : keys_(normal_rows(kLength, kSize, 100 * seed)) {
    for (int h = 0; h < heads; ++h) {
      queries_.push_back(normal_rows(kLength, kSize, 100 * seed + 1 + static_cast<unsigned>(h)));
    }
    for (int h = 0; h < heads; ++h) {
      HeadInput& head = heads_.emplace_back();
      head.head = h;
      head.queries = queries_[h];
      head.keys = keys_;
      head.scale = 0.7f;
      if (heads == 1) continue;
      for (const Matrix<float>& queries : queries_) head.group_queries.push_back(queries);
    }
  }
  Group(const Group&) = delete;
  std::vector<HeadInput>& heads() { return heads_; }
  HeadInput& head() { return heads_.front(); }

 private:
  Matrix<float> keys_;
  std::vector<Matrix<float>> queries_;
  std::vector<HeadInput> heads_;
};

using Held = std::set<Index>;
// What the rule says a key held is worth after a query.
using WorthOf = std::function<double(const HeadInput&, Index query, const Held&, Index key)>;

double product(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += double{a[d]} * double{b[d]};
  return sum;
}

// The weight of a key among those held, summed over the heads that share it.
double weight(const HeadInput& head, Index query, const Held& held, Index key) {
  std::vector<MatrixView<const float>> sharing = head.group_queries;
  if (sharing.empty()) sharing = {head.queries};
  double all = 0;
  for (const MatrixView<const float>& queries : sharing) {
    const auto exponential = [&](Index j) {
      double logit = head.scale * product(queries.row(query), head.keys.row(j));
      if (head.softcap > 0) logit = head.softcap * std::tanh(logit / head.softcap);
      if (!head.position_bias.empty()) {
        logit += head.position_bias[kLength - 1 + j - query];
      }
      return std::exp(logit);
    };
    double sum = 0;
    for (const Index j : held) sum += exponential(j);
    all += exponential(key) / sum;
  }
  return all;
}

// KeyDiff, equations 6 and 7: minus the cosine of a key and the mean of the unit keys.
double difference(const HeadInput& head, Index, const Held& held, Index key) {
  std::vector<double> anchor(kSize);
  const auto norm = [&](Index j) { return std::sqrt(product(head.keys.row(j), head.keys.row(j))); };
  for (const Index j : held) {
    for (Index d = 0; d < kSize; ++d) anchor[d] += head.keys(j, d) / norm(j) / std::ssize(held);
  }
  double dot = 0, square = 0;
  for (Index d = 0; d < kSize; ++d) {
    dot += anchor[d] * head.keys(key, d);
    square += anchor[d] * anchor[d];
  }
  return -dot / norm(key) / std::sqrt(square);
}

// H2O, algorithm 1: the weights that a key got from all queries since it came.
WorthOf sum_of_weights() {
  const auto sums = std::make_shared<std::map<Index, double>>();
  return [sums](const HeadInput& head, Index query, const Held& held, Index key) {
    if (query == 0) sums->clear();
    return (*sums)[key] += weight(head, query, held, key);
  };
}

// The keys that each query sees.
std::vector<Held> by_definition(const HeadInput& head, Index size, Index recent,
                                const WorthOf& worth) {
  std::vector<Held> seen;
  Held held;
  for (Index query = 0; query < kLength; ++query) {
    const KeyRange visible = head.visibility.range(query, kLength);
    std::erase_if(held, [&](Index j) { return j < visible.begin; });
    held.insert(query);
    seen.push_back(held);
    std::map<Index, double> worths;
    for (const Index j : held) worths[j] = worth(head, query, held, j);
    if (std::ssize(held) < size) continue;
    // The next query comes with a key of its own, and sees the `recent` last with it.
    Index least = -1;
    for (const auto& [j, value] : worths) {
      if (query + 1 - j < recent) continue;
      if (least < 0 || value < worths[least]) least = j;
    }
    held.erase(least);
  }
  return seen;
}

struct Rule {
  const char* name;
  std::function<WorthOf()> worth;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {{"keydiff", [] { return WorthOf(difference); }},
                                        {"tova", [] { return WorthOf(weight); }},
                                        {"h2o", sum_of_weights}};
  return all;
}

std::string spec(const Rule& rule, Index keys, Index recent) {
  return std::string(rule.name) + ":keys=" + std::to_string(keys) +
         ",recent=" + std::to_string(recent);
}

// Not of two keys: both have the same cosine with their mean.
void expect_definition(const HeadInput& head) {
  for (const Rule& rule : rules()) {
    for (const auto& [keys, recent] : {std::pair{Index{1}, Index{1}},
                                       {3, 1},
                                       {7, 1},
                                       {16, 1},
                                       {16, 5},
                                       {16, 16},
                                       {30, 12},
                                       {89, 1},
                                       {90, 1},
                                       {500, 3}}) {
      const auto expected = by_definition(head, keys, recent, rule.worth());
      const auto mask = make_pattern(spec(rule, keys, recent))->mask(head);
      for (Index query = 0; query < kLength; ++query) {
        const Held& seen = expected[query];
        ASSERT_EQ(asked(*mask, head, query, kLength), Keys(seen.begin(), seen.end()))
            << spec(rule, keys, recent) << ", query " << query;
      }
    }
  }
}

TEST(Evictions, AreTheirDefinition) {
  for (std::uint32_t seed = 1; seed <= 2; ++seed) expect_definition(Group(seed).head());
}

TEST(Evictions, OfAHeadAlone) {
  Group one(6, 1);
  expect_definition(one.head());
}

TEST(Evictions, InAModelsOwnWindow) {
  for (const Index window : {1, 10, 40}) {
    Group group(7);
    group.head().visibility = Visibility::sliding_window(window);
    expect_definition(group.head());
  }
}

TEST(Evictions, WeighAsTheHeadDoes) {
  Group group(8);
  std::vector<float> bias(2 * kLength - 1);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = 0.05f * static_cast<float>(i % 23);
  group.head().position_bias = bias;
  group.head().softcap = 1.5f;
  expect_definition(group.head());
}

TEST(Evictions, KeepTheLastKeysThatTheyMust) {
  Group group(9);
  for (const Rule& rule : rules()) {
    // A window, where all of the cache is recent.
    const auto all = make_pattern(spec(rule, 12, 12))->mask(group.head());
    const auto window = make_pattern("window:size=12")->mask(group.head());
    const auto some = make_pattern(spec(rule, 12, 4))->mask(group.head());
    for (Index query = 0; query < kLength; ++query) {
      EXPECT_EQ(asked(*all, group.head(), query, kLength),
                asked(*window, group.head(), query, kLength));
      const Keys keys = asked(*some, group.head(), query, kLength);
      EXPECT_EQ(std::ssize(keys), std::min<Index>(query + 1, 12)) << rule.name;
      for (Index j = std::max<Index>(0, query - 3); j <= query; ++j) {
        EXPECT_TRUE(std::ranges::binary_search(keys, static_cast<std::uint32_t>(j))) << rule.name;
      }
    }
  }
}

TEST(Evictions, GiveHalfOfH2oToRecentKeys) {
  Group group(14);
  for (const auto& [half, given] :
       {std::pair{"h2o:keys=20", "h2o:keys=20,recent=10"}, {"h2o:keys=1", "h2o:keys=1,recent=1"}}) {
    for (Index query = 0; query < kLength; ++query) {
      EXPECT_EQ(asked(half, group.head(), query, kLength),
                asked(given, group.head(), query, kLength));
    }
  }
}

TEST(Evictions, HoldWhatTheySay) {
  for (const Rule& rule : rules()) {
    const auto pattern = make_pattern(spec(rule, 20, 3));
    EXPECT_EQ(pattern->cached_keys(10), 10);
    EXPECT_EQ(pattern->cached_keys(1000), 20);
    EXPECT_FALSE(pattern->first_and_last().has_value());
  }
}

// The earliest of equal keys goes: then the policies of content are windows.
TEST(Evictions, DropTheEarliestOfEqualKeys) {
  Matrix<float> same(kLength, 3);
  for (Index i = 0; i < kLength; ++i) same(i, 1) = 1;
  HeadInput head;
  head.queries = head.keys = same;
  const Keys last = asked("keydiff:keys=5", head, 60, kLength);
  EXPECT_EQ(last, (Keys{56, 57, 58, 59, 60}));
  EXPECT_EQ(asked("tova:keys=5", head, 60, kLength), last);
  // The longer a key is held, the more weight it has got: the newest goes.
  EXPECT_EQ(asked("h2o:keys=5,recent=1", head, 60, kLength), (Keys{0, 1, 2, 3, 60}));
  Matrix<float> none(kLength, 3);
  head.queries = head.keys = none;
  EXPECT_EQ(asked("keydiff:keys=5", head, 60, kLength), last);
}

TEST(Evictions, RefuseWhatHasNoCache) {
  Group group(10);
  group.head().visibility = Visibility::full();
  EXPECT_THROW(make_pattern("keydiff")->mask(group.head()), UnsupportedError);
  HeadInput bare = bare_head();
  EXPECT_THROW(make_pattern("tova")->mask(bare), UsageError);
}

// ---- A layer ----

HeadInterventions everywhere(const std::string& pattern, int heads) {
  const std::shared_ptr<const Pattern> made = make_pattern(pattern);
  return HeadInterventions(1, heads, {.normalizer = nullptr, .pattern = made});
}

TEST(InterveneInLayer, HeadsThatShareKeysShareQueriesAndMasks) {
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    Group first(11, 2), second(12, 1), third(13, 2);
    std::vector<HeadInput> heads;
    for (Group* group : {&first, &second, &third}) {
      for (HeadInput head : group->heads()) {
        head.kv_head = group == &first ? 0 : group == &second ? 1 : 2;
        head.head = static_cast<int>(heads.size());
        head.group_queries.clear();
        heads.push_back(std::move(head));
      }
    }
    const std::vector<HeadInput> before = heads;
    intervene_in_layer(heads, everywhere("tova:keys=9", 5), pool);
    for (const auto& [head, of_group] : {std::pair{0, 2}, {1, 2}, {2, 0}, {3, 2}, {4, 2}}) {
      EXPECT_EQ(std::ssize(heads[head].group_queries), of_group);
    }
    EXPECT_EQ(heads[1].group_queries.front().data(), heads[0].queries.data());
    EXPECT_EQ(heads[4].group_queries.back().data(), heads[4].queries.data());
    EXPECT_EQ(heads[0].visibility.mask(), heads[1].visibility.mask());
    EXPECT_NE(heads[1].visibility.mask(), heads[2].visibility.mask());
    EXPECT_EQ(heads[3].visibility.mask(), heads[4].visibility.mask());
    EXPECT_EQ(asked(*heads[1].visibility.mask(), heads[1], 70, kLength),
              asked("tova:keys=9", first.head(), 70, kLength));
    for (const HeadInput& head : heads) EXPECT_TRUE(head.own.has_value());
    // Nor do heads share masks under two patterns.
    heads = before;
    HeadInterventions two = everywhere("tova:keys=9", 5);
    two(0, 1).pattern = make_pattern("tova:keys=10");
    intervene_in_layer(heads, two, pool);
    EXPECT_NE(heads[0].visibility.mask(), heads[1].visibility.mask());
  }
}

}  // namespace
}  // namespace headgauge
