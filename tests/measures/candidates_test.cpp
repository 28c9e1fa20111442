// The best rows of a head do not depend on the order in which they are seen, nor on who sees them.
#include "measures/examples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace headgauge {
namespace {

Example row(double value, int document, Index query) {
  Example example;
  example.value = value;
  example.document = document;
  example.query = query;
  return example;
}

// Few values, so that many are equal.
std::vector<Example> made_rows(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Example> rows;
  for (int document = 0; document < 3; ++document) {
    for (Index query = 0; query < 150; ++query) {
      rows.push_back(row(static_cast<double>(random() % 40) / 40, document, query));
    }
  }
  std::ranges::shuffle(rows, random);
  return rows;
}

// From the definition: the best of each stretch, and of these the first.
std::vector<Example> best_of(const std::vector<Example>& rows, std::size_t most) {
  std::map<std::pair<int, Index>, Example> stretches;
  for (const Example& one : rows) {
    const auto [place, is_new] = stretches.try_emplace({one.document, one.query / kStretch}, one);
    if (!is_new && comes_before(one, place->second)) place->second = one;
  }
  std::vector<Example> best;
  for (const auto& [stretch, one] : stretches) best.push_back(one);
  std::ranges::sort(best, comes_before);
  best.resize(std::min(most, best.size()));
  return best;
}

void expect_same(const std::vector<Example>& found, const std::vector<Example>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].value, expected[i].value) << i;
    EXPECT_EQ(found[i].document, expected[i].document) << i;
    EXPECT_EQ(found[i].query, expected[i].query) << i;
  }
}

TEST(Candidates, AreTheBestStretchesInAnyOrder) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const std::vector<Example> rows = made_rows(seed);
    for (const int most : {1, 3, 8, 100}) {
      Candidates whole(most), first(most), second(most);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        whole.add(rows[i]);
        (i % 3 == 0 ? first : second).add(rows[i]);
      }
      const auto expected = best_of(rows, static_cast<std::size_t>(most));
      expect_same(whole.rows(), expected);
      second.add(first);
      expect_same(second.rows(), expected);
    }
  }
}

TEST(Candidates, EqualValuesGoToTheEarlierRow) {
  Candidates best(2);
  for (const Example& one : {row(0.5, 1, 3), row(0.5, 0, 200), row(0.5, 0, 100), row(0.4, 0, 0)}) {
    best.add(one);
  }
  expect_same(best.rows(), {row(0.5, 0, 100), row(0.5, 0, 200)});
}

TEST(Candidates, WantWhatTheyWouldKeep) {
  Candidates best(1);
  EXPECT_TRUE(best.wants(row(0.1, 0, 0)));
  best.add(row(0.5, 0, 7));
  EXPECT_FALSE(best.wants(row(0.5, 0, 8)));
  EXPECT_TRUE(best.wants(row(0.5, 0, 6)));
  EXPECT_FALSE(best.wants(row(0.4, 0, 40)));
  best.clear();
  EXPECT_TRUE(best.wants(row(0.4, 0, 40)));
}

}  // namespace
}  // namespace headgauge
