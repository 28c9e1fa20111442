// Patterns that draw random numbers or look at what the keys hold.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "heads/asked_masks.hpp"

namespace headgauge {
namespace {

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
      std::vector<Index> order(n);
      std::iota(order.begin(), order.end(), Index{0});
      std::ranges::stable_sort(order, std::greater{}, [&](Index j) { return logits[j]; });
      order.resize(std::min(k, n));
      std::ranges::sort(order);
      Keys expected;
      for (const Index j : order) expected.push_back(static_cast<std::uint32_t>(j + 5));
      EXPECT_EQ(keys, expected) << "k = " << k << ", n = " << n;
    }
  }
}

}  // namespace
}  // namespace headgauge
