// From a row's logits to the weights of the keys that its mask leaves.
#include "heads/masked_row.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "faults.hpp"
#include "heads/asked_masks.hpp"

namespace headgauge {
namespace {

// A mask as a user of the library may write it.
class MadeMask final : public KeyMask {
 public:
  explicit MadeMask(std::function<Keys(Index)> keys) : keys_(std::move(keys)) {}
  void select(Index query, KeyRange, std::span<const float>, Keys& keys) const override {
    keys = keys_(query);
  }

 private:
  std::function<Keys(Index)> keys_;
};

HeadInput masked_head(std::function<Keys(Index)> keys) {
  HeadInput head =
      bare_head(Visibility::causal().masked(std::make_shared<MadeMask>(std::move(keys))));
  head.layer = 2;
  head.head = 5;
  return head;
}

std::string message(const HeadInput& head, Index query, std::span<const float> logits = {}) {
  Keys positions;
  return thrown<BadInputError>(
      [&] { select_keys(head, query, head.visibility.range(query, 50), logits, positions); });
}

TEST(SelectKeys, NamesTheRowThatIsLeftWithoutAKey) {
  const HeadInput head = masked_head([](Index query) { return query == 9 ? Keys{} : Keys{0}; });
  EXPECT_EQ(message(head, 8), "nothing");
  EXPECT_EQ(message(head, 9),
            "the mask at layer 2 head 5 row 9: expected at least one key, found none; let every "
            "query see a key, such as its own");
}

TEST(SelectKeys, RefusesKeysThatAreNotThere) {
  const auto of = [](Keys keys) { return masked_head([keys](Index) { return keys; }); };
  EXPECT_EQ(message(of({0, 3, 9}), 9), "nothing");
  for (const Keys& keys : {Keys{10}, Keys{0, 60}, Keys{3, 2}, Keys{1, 1}, Keys{5, 1, 7}}) {
    expect_part(message(of(keys), 9), "keys from 0 to 9, ascending, each once");
  }
}

TEST(SelectKeys, IsARangeWhereNoKeyIsBetween) {
  Keys positions;
  const HeadInput near = masked_head([](Index) { return Keys{4, 5, 6}; });
  const KeptKeys range = select_keys(near, 9, {0, 10}, {}, positions);
  EXPECT_EQ(range.keys.begin, 4);
  EXPECT_EQ(range.keys.end, 7);
  EXPECT_TRUE(range.positions.empty());
  const HeadInput gap = masked_head([](Index) { return Keys{4, 6}; });
  const KeptKeys apart = select_keys(gap, 9, {0, 10}, {}, positions);
  EXPECT_EQ(apart.keys.begin, 4);
  EXPECT_EQ(apart.keys.end, 7);
  EXPECT_EQ(Keys(apart.positions.begin(), apart.positions.end()), (Keys{4, 6}));
}

// Softmax over the keys alone, at their places in the range.
std::vector<double> expected_weights(const std::vector<float>& logits, Index begin,
                                     const Keys& keys, double scale) {
  std::vector<double> weights(logits.size());
  double sum = 0;
  for (const std::uint32_t key : keys)
    sum += std::exp(scale * logits[key - static_cast<std::uint32_t>(begin)]);
  for (const std::uint32_t key : keys) {
    const auto at = key - static_cast<std::uint32_t>(begin);
    weights[at] = std::exp(scale * logits[at]) / sum;
  }
  return weights;
}

TEST(WeighRange, GivesHiddenKeysNothingAndCountsThemNot) {
  std::vector<float> logits;
  for (int j = 0; j < 30; ++j) logits.push_back(0.3f * static_cast<float>(j * j % 11));
  const auto ssmax = make_normalizer("ssmax:s=0.5");
  RangeWorkspace work;
  for (const Keys& keys : {Keys{10}, Keys{12, 13, 14}, Keys{11, 17, 20, 39}}) {
    HeadInput head = masked_head([&](Index) { return keys; });
    for (const Normalizer* normalizer :
         {static_cast<const Normalizer*>(nullptr), static_cast<const Normalizer*>(ssmax.get())}) {
      head.normalizer = normalizer;
      std::vector<float> row = logits;
      weigh_range(head, 39, {10, 40}, row, work);
      // SSMax: softmax(s log(n) l), n the keys that are left.
      const double scale =
          normalizer == nullptr ? 1.0 : 0.5 * std::log(static_cast<double>(keys.size()));
      const auto expected = expected_weights(logits, 10, keys, scale);
      for (std::size_t j = 0; j < row.size(); ++j) EXPECT_NEAR(row[j], expected[j], 2e-6) << j;
    }
  }
}

TEST(WeighRange, IsSoftmaxOrTheNormalizerWithoutAMask) {
  std::vector<float> logits{1.0f, -2.0f, 0.5f, 3.0f};
  HeadInput head = bare_head();
  RangeWorkspace work;
  std::vector<float> row = logits;
  weigh_range(head, 3, {0, 4}, row, work);
  const auto soft = expected_weights(logits, 0, {0, 1, 2, 3}, 1.0);
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(row[j], soft[j], 2e-6);
  const auto sparsemax = make_normalizer("sparsemax");
  head.normalizer = sparsemax.get();
  row = logits;
  weigh_range(head, 3, {0, 4}, row, work);
  EXPECT_EQ(row, (std::vector<float>{0, 0, 0, 1}));
}

TEST(WeighRange, LooksAtTheLogitsOfTheRangeAndRefusesThoseThatAreNone) {
  const auto top = make_pattern("topk:k=2");
  HeadInput head = bare_head();
  head.visibility = head.visibility.masked(top->mask(head));
  RangeWorkspace work;
  std::vector<float> row{1.0f, 2.0f, 0.0f, 2.0f};
  weigh_range(head, 3, {0, 4}, row, work);
  EXPECT_EQ(row, (std::vector<float>{0, 0.5f, 0, 0.5f}));
  row = {1.0f, NAN, 0.0f};
  EXPECT_THROW(weigh_range(head, 2, {0, 3}, row, work), BadInputError);
}

}  // namespace
}  // namespace headgauge
