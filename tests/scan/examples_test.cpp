// Examples of a whole scan: how many, of what, and the same whoever computes them. That they are
// the right queries is held to a reference in tests/agreement/test_examples.py.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "faults.hpp"
#include "headgauge/headgauge.hpp"
#include "scan/pair_of_heads.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

// Two heads whose tokens are "<0>", "<1>" ...
class PairWithText final : public PairOfHeads {
 public:
  PairWithText() { info_.has_texts = true; }
  std::vector<std::string> token_texts(int) const override {
    std::vector<std::string> texts;
    for (Index t = 0; t < kLength; ++t) texts.push_back("<" + std::to_string(t) + ">");
    return texts;
  }
};

ScanOptions with_examples(int count, const std::string& pattern = "none") {
  ScanOptions options = options_with(pattern);
  options.measures = {"weights"};
  options.examples = count;
  return options;
}

nlohmann::ordered_json examples_of(const Results& results) {
  const auto json = to_json(results);
  return {json.value("examples", nlohmann::ordered_json()),
          json.value("passages", nlohmann::ordered_json())};
}

TEST(Examples, NoneUnlessAskedFor) {
  PairWithText source;
  const Results results = scan(source, with_examples(0));
  EXPECT_TRUE(results.examples.empty());
  EXPECT_TRUE(results.passages.empty());
  EXPECT_FALSE(to_json(results).contains("examples"));
}

TEST(Examples, AreThereWithoutBeingAskedForWhereTheTextIsKnown) {
  PairWithText source;
  ScanOptions options = with_examples(0);
  options.examples.reset();
  EXPECT_EQ(std::ssize(scan(source, options).examples), 2 * kUsualExamples);
  PairOfHeads silent;
  const Results none = scan(silent, options);
  EXPECT_TRUE(none.examples.empty());
  for (const std::string& notice : none.notices) expect_no_part(notice, "no text");
}

TEST(Examples, CriteriaTakeTurnsAndEachQueryIsKeptOnce) {
  PairWithText source;
  for (const int count : {1, 2, 6, 7}) {
    const Results results = scan(source, with_examples(count));
    ASSERT_EQ(std::ssize(results.examples), 2 * count);
    const std::vector<std::string> turns = {"far", "near", "spread"};
    std::set<std::tuple<int, int, Index>> queries;
    for (int i = 0; i < 2 * count; ++i) {
      const Example& example = results.examples[i];
      EXPECT_EQ(example.head, i / count);
      EXPECT_EQ(example.why, turns[i % count % 3]);
      EXPECT_GE(example.query, 64);
      EXPECT_TRUE(example.covered >= 0.95 || example.keys.size() == 32U) << example.covered;
      EXPECT_EQ(std::ssize(example.keys) + *example.others, example.query + 1);
      EXPECT_TRUE(example.originals.empty());
      EXPECT_TRUE(std::ranges::is_sorted(example.weights, std::greater{}));
      EXPECT_TRUE(queries.emplace(example.head, example.document, example.query).second);
    }
  }
}

TEST(Examples, SameOnAnyNumberOfThreads) {
  for (const char* pattern : {"none", "window:size=20"}) {
    PairWithText source;
    ScanOptions options = with_examples(8, pattern);
    options.threads = 1;
    const auto one = examples_of(scan(source, options));
    EXPECT_FALSE(one[0].empty());
    for (const int threads : {2, 5}) {
      options.threads = threads;
      EXPECT_EQ(examples_of(scan(source, options)), one) << threads << " threads, " << pattern;
    }
  }
}

TEST(Examples, UnderAPatternTheyShowWhatItTakesAway) {
  PairWithText source;
  const Results results = scan(source, with_examples(3, "window:size=20"));
  bool any_hidden = false;
  for (const Example& example : results.examples) {
    EXPECT_EQ(example.originals.size(), example.keys.size());
    EXPECT_NE(example.why, "far") << "no key is 64 tokens away";
    for (std::size_t i = 0; i < example.keys.size(); ++i) {
      const bool hidden = example.query - example.keys[i] >= 20;
      EXPECT_EQ(example.weights[i] == 0, hidden);
      EXPECT_GT(example.originals[i], 0);
      any_hidden = any_hidden || hidden;
    }
  }
  EXPECT_TRUE(any_hidden);
  EXPECT_EQ(results.examples.front().why, "change");
}

TEST(Examples, PassagesHoldTheTokensAroundQueriesAndKeys) {
  PairWithText source;
  const Results results = scan(source, with_examples(2));
  std::set<Index> known;
  Index before = -1;
  for (const Passage& passage : results.passages) {
    EXPECT_EQ(passage.document, 0);
    EXPECT_GT(passage.first, before) << "neighbours are joined, and none overlap";
    for (std::size_t k = 0; k < passage.tokens.size(); ++k) {
      const Index at = passage.first + static_cast<Index>(k);
      EXPECT_EQ(passage.tokens[k], "<" + std::to_string(at) + ">");
      known.insert(at);
    }
    before = passage.first + std::ssize(passage.tokens);
  }
  std::set<Index> expected;
  const auto add = [&](Index at) {
    for (Index i = at - 8; i <= at + 8; ++i) {
      if (i >= 0 && i < kLength) expected.insert(i);
    }
  };
  for (const Example& example : results.examples) {
    add(example.query);
    for (const Index key : example.keys) add(key);
  }
  EXPECT_EQ(known, expected);
}

TEST(Examples, WithoutATextTheyArePositionsAndANoticeSaysSo) {
  PairOfHeads source;
  const Results results = scan(source, with_examples(2));
  EXPECT_EQ(results.examples.size(), 4U);
  EXPECT_TRUE(results.passages.empty());
  EXPECT_EQ(testing::notices_with(results, "gives no text of its tokens"), 1);
}

// Scores alone; query 100 sees no key.
class BlindRow final : public SourceOfHeads {
 public:
  BlindRow() : SourceOfHeads(1, kLength), scores_(kLength, kLength) {
    for (Index i = 0; i < kLength; ++i) {
      for (Index j = 0; j < kLength; ++j) {
        const float blind = -std::numeric_limits<float>::infinity();
        scores_(i, j) = i == 100 ? blind : static_cast<float>((i * 31 + j * 17) % 23);
      }
    }
    heads_.front().scores = scores_.view();
  }

 private:
  Matrix<float> scores_;
};

TEST(Examples, ARowThatSeesNothingIsNone) {
  BlindRow source;
  const Results results = scan(source, with_examples(100));
  EXPECT_GT(results.examples.size(), 10U);
  for (const Example& example : results.examples) EXPECT_NE(example.query, 100);
}

TEST(Examples, OfABidirectionalModelThoseOfTheLongestPass) {
  Document document;
  document.name = "made";
  document.before = {1};
  document.after = {2, 3};
  for (int i = 0; i < 60; ++i) document.tokens.push_back((i * i * 7 + i) % 41);
  document.total = document.size();
  const auto results_of = [&](std::vector<int> lengths) {
    const auto source = testing::open_model({document}, {}, "tests/golden/bert/plain");
    ScanOptions options;
    options.lengths = std::move(lengths);
    options.measures = {"weights"};
    options.examples = 4;
    return scan(*source, options);
  };
  const Results both = results_of({20, 50}), longest = results_of({50});
  EXPECT_EQ(examples_of(both), examples_of(longest));
  ASSERT_FALSE(both.passages.empty());
  // Ids stand for themselves where no text is known, with what stands around the text.
  EXPECT_EQ(both.passages.back().first + std::ssize(both.passages.back().tokens), 50);
  EXPECT_EQ(both.passages.back().tokens.back(), "3");
}

}  // namespace
}  // namespace headgauge
