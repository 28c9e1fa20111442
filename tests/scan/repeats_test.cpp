#include "scan/repeats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "headgauge/heads.hpp"
#include "heads/batch_means.hpp"

namespace headgauge {
namespace {

using Gaps = std::vector<Index>;

// A source that knows tokens and nothing else.
class Texts final : public HeadSource {
 public:
  explicit Texts(std::vector<std::vector<int>> texts) : texts_(std::move(texts)) {
    for (const auto& text : texts_) info_.documents.push_back(std::ssize(text));
  }
  const SourceInfo& info() const override { return info_; }
  std::span<const HeadInput> layer(int, int) override { return {}; }
  std::vector<int> token_ids(int document) const override { return texts_[document]; }

 private:
  std::vector<std::vector<int>> texts_;
  SourceInfo info_;
};

TEST(RepeatGaps, AreTheDistanceToTheLastEqualBigram) {
  EXPECT_EQ(repeat_gaps(std::vector<int>{1, 2, 3, 1, 2, 3}), (Gaps{0, 0, 0, 3, 3}));
  EXPECT_EQ(repeat_gaps(std::vector<int>{7, 7, 7, 7}), (Gaps{0, 1, 1}));
  EXPECT_EQ(repeat_gaps(std::vector<int>{1, 2, 1, 2, 9, 1, 2}), (Gaps{0, 0, 2, 0, 0, 3}))
      << "the last one counts";
  EXPECT_EQ(repeat_gaps(std::vector<int>{5}), Gaps{});
  EXPECT_EQ(repeat_gaps({}), Gaps{});
}

TEST(RepeatGaps, AgreeWithLookingBackFromEveryToken) {
  std::mt19937 random(3);
  std::vector<int> tokens;
  for (int t = 0; t < 500; ++t) tokens.push_back(static_cast<int>(random() % 9));
  const Gaps gaps = repeat_gaps(tokens);
  for (Index t = 0; t + 1 < std::ssize(tokens); ++t) {
    Index expected = 0;
    for (Index s = t - 1; s >= 0 && expected == 0; --s) {
      if (tokens[s] == tokens[t] && tokens[s + 1] == tokens[t + 1]) expected = t - s;
    }
    ASSERT_EQ(gaps[t], expected) << t;
  }
}

TEST(RepeatGaps, MeansAreOverTheOctavesOfAllDocuments) {
  // The gaps are 0 0 0 3 3 and 0 1 0.
  const Texts texts({{1, 2, 3, 1, 2, 3}, {8, 8, 8, 1}});
  const RepeatGaps repeats(texts);
  ASSERT_TRUE(repeats.known());
  EXPECT_EQ(repeats.labels(), (std::vector<std::string>{"1", "2-3", "none"}));
  const std::vector<std::vector<double>> values = {{10, 20, 30, 4, 6}, {40, 7, 50}};
  const std::vector<Estimate> means = repeats.means(values);
  ASSERT_EQ(means.size(), 3u);
  EXPECT_DOUBLE_EQ(means[0].value, 7);
  EXPECT_DOUBLE_EQ(means[1].value, 5);
  EXPECT_DOUBLE_EQ(means[2].value, 30);
  EXPECT_EQ(means[1].rows, 2);
  EXPECT_TRUE(std::isnan(means[2].standard_error)) << "two batches are too few";
}

TEST(RepeatGaps, ErrorsAreOverDocumentsIfFourHaveTheOctave) {
  const std::vector<int> text = {1, 2, 1, 2, 1};  // gaps 0 0 2 2
  const Texts texts({text, text, text, text});
  const std::vector<std::vector<double>> values = {
      {0, 0, 1, 3}, {0, 0, 2, 4}, {0, 0, 3, 5}, {0, 0, 4, 6}};
  const Estimate mean = RepeatGaps(texts).means(values)[1];
  EXPECT_DOUBLE_EQ(mean.value, 3.5);
  EXPECT_NEAR(mean.standard_error, std::sqrt(5.0 / 3 / 4), 1e-12) << "of 2, 3, 4 and 5";
}

TEST(RepeatGaps, ATextMayRepeatNothing) {
  EXPECT_FALSE(RepeatGaps(Texts({{}, {}})).known());
  const Texts new_tokens({{1, 2, 3}});
  const RepeatGaps nothing_again(new_tokens);
  EXPECT_TRUE(nothing_again.known());
  EXPECT_EQ(nothing_again.labels(), std::vector<std::string>{"none"});
}

Estimate change(double value, double error) {
  Estimate estimate;
  estimate.value = value;
  estimate.standard_error = error;
  estimate.degrees_of_freedom = 20;
  return estimate;
}

TEST(FirstOctaveAbove, IsTheFirstThatIsShown) {
  const Estimate none = change(9, 0);  // of what repeats nothing
  EXPECT_EQ(first_octave_above(std::vector{change(9.1, .1), change(9.5, .01), none}, .1), 2);
  EXPECT_EQ(first_octave_above(std::vector{change(9.5, .3), change(9.1, .01), none}, .1), -1);
  EXPECT_EQ(first_octave_above(std::vector{change(9.5, kUndefined), change(9.4, .01), none}, .1),
            2);
  // t = 2 with 20 degrees of freedom has p = .0296: shown in one octave, not in two.
  EXPECT_EQ(first_octave_above(std::vector{change(9.3, .1), none}, .1), 1);
  EXPECT_EQ(first_octave_above(std::vector{change(9.3, .1), change(9, .1), none}, .1), -1);
}

// What rises everywhere alike is no loss of copying.
TEST(FirstOctaveAbove, CountsWhatExceedsTheTokensThatRepeatNothing) {
  EXPECT_EQ(first_octave_above(std::vector{change(.98, .01), change(1, .01)}, .1), -1);
  EXPECT_EQ(first_octave_above(std::vector{change(1.2, .01), change(1, .01)}, .1), 1);
  // The difference of .2 less .1 has the error .05: t = 2 with 40 degrees of freedom, p = .026.
  EXPECT_EQ(first_octave_above(std::vector{change(1.2, .03), change(1, .04)}, .1), 1);
  EXPECT_EQ(first_octave_above(std::vector{change(1.2, .06), change(1, .08)}, .1), -1);
  EXPECT_EQ(first_octave_above(std::vector{change(1.2, .01), change(1, kUndefined)}, .1), -1);
}

// Changes that exceed the others by exactly 0.1 in every octave: "by more than 0.1" is false
// wherever it is said.
TEST(FirstOctaveAbove, KeepsItsLevelOverAllOctaves) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> noise;
  constexpr int kTexts = 4000;
  for (const double spread : {0.0, 1.0}) {  // of what repeats nothing
    int found = 0;
    for (int trial = 0; trial < kTexts; ++trial) {
      const auto five = [&](double mean, double by) {
        BatchMeans means;  // five documents of one prediction each
        for (int document = 0; document < 5; ++document) {
          means.add({mean + by * noise(random), 1, 1});
        }
        return means.finish();
      };
      std::vector<Estimate> changes;
      for (int octave = 0; octave < 9; ++octave) changes.push_back(five(2.1, 1));
      changes.push_back(five(2, spread));
      found += first_octave_above(changes, 0.1) > 0 ? 1 : 0;
    }
    // 5 % and three standard errors of the count.
    EXPECT_LE(found, kTexts * 0.05 + 3 * std::sqrt(kTexts * 0.05 * 0.95)) << spread;
    EXPECT_GE(found, kTexts * (spread > 0 ? 0.015 : 0.03)) << "not needlessly cautious";
  }
}

}  // namespace
}  // namespace headgauge
