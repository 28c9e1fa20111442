// Patterns that draw random numbers or look at what the keys hold.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "heads/asked_masks.hpp"

namespace headgauge {
namespace {

bool contains(const Keys& keys, Index key) {
  return std::ranges::binary_search(keys, static_cast<std::uint32_t>(key));
}

TEST(BigBird, AddsAsManyDrawnKeysAsThereAre) {
  for (const Visibility& visibility : {Visibility::causal(), Visibility::full()}) {
    const HeadInput head = bare_head(visibility);
    for (const Index length : {1, 2, 9, 40, 200}) {
      const auto drawn = make_pattern("bigbird:window=6,random=5,global=2")->mask(head);
      const auto fixed = make_pattern("window:size=6,global=2")->mask(head);
      for (Index query = 0; query < length; ++query) {
        const Keys all = asked(*drawn, head, query, length);
        const Keys window = asked(*fixed, head, query, length);
        EXPECT_TRUE(std::ranges::includes(all, window));
        EXPECT_TRUE(std::ranges::is_sorted(all, std::less_equal{}));
        const auto range = visibility.range(query, length);
        const auto rest = static_cast<std::size_t>(range.size()) - window.size();
        EXPECT_EQ(all.size() - window.size(), std::min<std::size_t>(rest, 5));
        EXPECT_TRUE(head.visibility.sees(query, all.back(), length));
      }
    }
  }
}

TEST(BigBird, DrawsAllKeysAlike) {
  const HeadInput head = bare_head();
  std::vector<int> counts(60);
  constexpr int kDraws = 3000;
  for (int seed = 0; seed < kDraws; ++seed) {
    const std::string spec = "bigbird:window=1,random=6,global=0,seed=" + std::to_string(seed);
    for (const std::uint32_t key : asked(spec, head, 60, 61)) {
      if (key < 60) ++counts[key];
    }
  }
  // Each key with probability 1/10: chi squared of 59 degrees of freedom (99.99 %: 107), which
  // sampling without replacement narrows.
  double chi2 = 0;
  for (const int count : counts) chi2 += std::pow(count - 300.0, 2) / 300.0;
  EXPECT_LT(chi2, 107);
  EXPECT_GT(chi2, 20);
}

TEST(BigBird, DrawsAnewForEverySeedLayerHeadAndRow) {
  HeadInput head = bare_head();
  const std::string spec = "bigbird:window=1,random=5,global=0,seed=";
  const Keys first = asked(spec + "3", head, 150, 200);
  EXPECT_EQ(asked(spec + "3", head, 150, 200), first);
  EXPECT_NE(asked(spec + "4", head, 150, 200), first);
  Keys next = asked(spec + "3", head, 151, 200);
  EXPECT_NE(Keys(next.begin(), next.end() - 1), Keys(first.begin(), first.end() - 1));
  head.layer = 1;
  const Keys other_layer = asked(spec + "3", head, 150, 200);
  EXPECT_NE(other_layer, first);
  head.layer = 0;
  head.head = 1;
  EXPECT_NE(asked(spec + "3", head, 150, 200), first);
  EXPECT_NE(asked(spec + "3", head, 150, 200), other_layer);
  head.head = 0;
  head.document = 1;
  EXPECT_NE(asked(spec + "3", head, 150, 200), first);
}

// argmax over [xR; -xR] from the definition.
std::size_t bucket(std::span<const float> x, std::size_t buckets, std::uint32_t head, int round,
                   std::uint64_t seed) {
  std::vector<double> r(x.size() * buckets / 2);
  RandomStream(seed, RandomDomain::lsh_rotation, head, static_cast<std::uint32_t>(round))
      .normals(r);
  const double norm = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  std::vector<double> turned(buckets);
  for (std::size_t b = 0; b < buckets / 2; ++b) {
    for (std::size_t d = 0; d < x.size(); ++d) {
      turned[b] += static_cast<double>(x[d]) / norm * r[d * (buckets / 2) + b];
    }
    turned[b + buckets / 2] = -turned[b];
  }
  return static_cast<std::size_t>(std::ranges::max_element(turned) - turned.begin());
}

TEST(Lsh, KeepsTheKeysOfTheQuerysBuckets) {
  constexpr Index kLength = 150;
  const Matrix<float> queries = normal_rows(kLength, 8, 1), keys = normal_rows(kLength, 8, 2);
  for (const std::size_t buckets : {2u, 6u, 16u}) {
    for (const int rounds : {1, 3}) {
      for (const Visibility& visibility : {Visibility::causal(), Visibility::full()}) {
        HeadInput head = bare_head(visibility);
        head.layer = 2;
        head.head = 3;
        head.queries = queries;
        head.keys = keys;
        const auto mask = make_pattern("lsh:seed=9,rounds=" + std::to_string(rounds) +
                                       ",buckets=" + std::to_string(buckets))
                              ->mask(head);
        const std::uint32_t number = 2 * 65536 + 3;
        for (Index query = 0; query < kLength; query += 7) {
          const Keys expected = brute(head, query, kLength, [&](Index i, Index j) {
            bool meets = i == j;
            for (int round = 0; round < rounds; ++round) {
              meets = meets || bucket(queries.row(i), buckets, number, round, 9) ==
                                   bucket(keys.row(j), buckets, number, round, 9);
            }
            return meets;
          });
          EXPECT_EQ(asked(*mask, head, query, kLength), expected) << "query " << query;
        }
      }
    }
  }
}

TEST(Lsh, OneBucketIsAllKeysAndEqualDirectionsShareTheirs) {
  const Matrix<float> queries = normal_rows(90, 8, 5);
  Matrix<float> keys = normal_rows(90, 8, 6);
  // Key 4 is query 70, longer.
  for (Index d = 0; d < 8; ++d) keys(4, d) = 8.0f * queries(70, d);
  HeadInput head = bare_head();
  head.queries = queries;
  head.keys = keys;
  for (Index query = 0; query < 90; ++query) {
    EXPECT_EQ(static_cast<Index>(asked("lsh:buckets=1", head, query, 90).size()), query + 1);
  }
  for (int seed = 0; seed < 50; ++seed) {
    const std::string spec = "lsh:buckets=256,rounds=1,seed=" + std::to_string(seed);
    EXPECT_TRUE(contains(asked(spec, head, 70, 90), 4));
    EXPECT_TRUE(contains(asked(spec, head, 71, 90), 71)) << "its own, whatever the buckets";
  }
}

TEST(Lsh, MoreRoundsKeepMoreAndOtherSeedsOthers) {
  const Matrix<float> queries = normal_rows(200, 16, 7), keys = normal_rows(200, 16, 8);
  HeadInput head = bare_head();
  head.queries = queries;
  head.keys = keys;
  const Keys one = asked("lsh:rounds=1", head, 199, 200);
  const Keys four = asked("lsh:rounds=4", head, 199, 200);
  EXPECT_TRUE(std::ranges::includes(four, one));
  EXPECT_GT(four.size(), one.size());
  EXPECT_NE(asked("lsh:rounds=4,seed=1", head, 199, 200), four);
  head.head = 1;
  EXPECT_NE(asked("lsh:rounds=4", head, 199, 200), four);
}

TEST(Lsh, IsRefusedWhereThereAreScoresAlone) {
  const Matrix<float> scores = normal_rows(8, 8, 1);
  HeadInput head = bare_head();
  head.scores = scores;
  try {
    make_pattern("lsh")->mask(head);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("pattern lsh: expected queries and keys"),
              std::string::npos);
  }
}

TEST(TopKeys, AreThoseOfLargestLogit) {
  std::mt19937 generator(3);
  for (const Index k : {1, 2, 7, 64, 1000}) {
    const auto mask = make_pattern("topk:k=" + std::to_string(k))->mask(bare_head());
    EXPECT_TRUE(mask->needs_logits());
    for (Index n = 1; n <= 200; n += 13) {
      std::vector<float> logits;
      for (Index j = 0; j < n; ++j) {
        logits.push_back(static_cast<float>(generator() % 9));  // with many ties
      }
      const KeyRange range{5, 5 + n};  // as behind a model's own window
      Keys keys;
      mask->select(range.end - 1, range, logits, keys);
      std::vector<Index> order(static_cast<std::size_t>(n));
      std::iota(order.begin(), order.end(), Index{0});
      std::ranges::stable_sort(order, std::greater{},
                               [&](Index j) { return logits[static_cast<std::size_t>(j)]; });
      order.resize(static_cast<std::size_t>(std::min(k, n)));
      std::ranges::sort(order);
      Keys expected;
      for (const Index j : order) expected.push_back(static_cast<std::uint32_t>(j + 5));
      EXPECT_EQ(keys, expected) << "k = " << k << ", n = " << n;
    }
  }
}

}  // namespace
}  // namespace headgauge
