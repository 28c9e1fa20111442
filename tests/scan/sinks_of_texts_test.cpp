// Sinks where there is more than one text: several documents, and an encoder's keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <vector>

#include "headgauge/headgauge.hpp"
#include "scan/head_with_sinks.hpp"

namespace headgauge {
namespace {

// A head a layer on documents, each with sinks of its own.
class Documents final : public HeadSource {
 public:
  struct Text {
    std::vector<Index> sinks;
    Index tokens = kTokensOfSinks;
  };
  using Layer = std::vector<Text>;  // by document
  explicit Documents(const std::vector<Layer>& layers) {
    for (const Layer& layer : layers) {
      auto& heads = heads_.emplace_back();
      for (const Text& text : layer) heads.push_back(std::make_unique<HeadWithSinks>(text.sinks));
    }
    info_ = heads_.front().front()->info();
    info_.layers = static_cast<int>(layers.size());
    info_.documents.clear();
    for (const Text& text : layers.front()) info_.documents.push_back(text.tokens);
  }
  const SourceInfo& info() const override { return info_; }
  std::span<const HeadInput> layer(int layer, int document) override {
    head_ = heads_.at(layer).at(document)->layer(0, 0).front();
    const auto cut = [&](MatrixView<const float> rows) {
      return rows.block(0, info_.documents.at(document), 0, rows.cols());
    };
    head_.queries = cut(head_.queries);
    head_.keys = head_.x.rows = cut(head_.keys);
    head_.layer = layer;
    head_.document = document;
    return std::span(&head_, 1);
  }

 private:
  std::vector<std::vector<std::unique_ptr<HeadWithSinks>>> heads_;  // by layer and document
  HeadInput head_;
  SourceInfo info_;
};

using Layer = Documents::Layer;
using Text = Documents::Text;

using List = std::vector<FoundSink>;

List listed_of_layers(const std::vector<Layer>& layers) {
  Documents source(layers);
  const Results results = scan_weights(source);
  return results.text.sinks.value();
}

template <typename... Texts>
List listed(const Texts&... texts) {
  return listed_of_layers({Layer{texts...}});
}

// What stands at a position in one text does not stand there in another: the first alone is named,
// with the mean over the documents.
TEST(SinksOfDocuments, AreNamedAtTheFirstPositionAlone) {
  const Text first{{0}}, two{{0, 37}}, late{{37}}, other{{61}}, none{{}};
  EXPECT_EQ(listed(two), (List{{0, 1}, {37, 1}}));
  EXPECT_EQ(listed(two, two), (List{{0, 1}}));
  EXPECT_EQ(listed(two, other), (List{{0, .5}}));
  EXPECT_EQ(listed(other, other, first, none), (List{{0, .25}}));
  EXPECT_EQ(listed(late, other), List{});
  EXPECT_EQ(listed(none, none), List{});
}

// In every layer the heads are those of its own documents.
TEST(SinksOfDocuments, AreSummedOverTheLayers) {
  const Text first{{0}}, two{{0, 37}}, other{{61}}, none{{}};
  EXPECT_EQ(listed_of_layers({Layer{first}, Layer{two}, Layer{two}, Layer{none}}),
            (List{{0, 3, 0, 2}, {37, 2, 1, 2}}));
  EXPECT_EQ(listed_of_layers({Layer{none, other}, Layer{two, other}, Layer{two, first}}),
            (List{{0, 1.5, 1, 2}}));
}

// However many other positions are sinks in all of them.
TEST(SinksOfDocuments, OfTheOthersNoneTakesThePlaceOfTheFirst) {
  const Text many{{3, 13, 23, 33, 43, 53, 63, 73}}, first{{0}};
  ASSERT_EQ(listed(many).size(), 8U);
  EXPECT_EQ(listed(first, many, many), (List{{0, 1. / 3}}));
}

// A text in which no key could be judged has no part in the mean, and is a text nonetheless.
TEST(SinksOfDocuments, CountThoseInWhichKeysWereJudged) {
  const Text brief{{0}, 40}, first{{0}}, two{{0, 37}}, other{{61}};
  EXPECT_EQ(listed(first, brief), (List{{0, 1}}));
  EXPECT_EQ(listed(two, brief), (List{{0, 1}}));
  EXPECT_EQ(listed(brief, other), List{});
}

// Queries that see all keys of another text, of which some are sinks.
class AcrossTexts final : public SourceOfHeads {
 public:
  AcrossTexts(Index queries, Index keys, const std::vector<Index>& sinks)
      : SourceOfHeads(1, queries), whole_(sinks) {
    head_ = whole_.layer(0, 0).front();
    head_.queries = head_.queries.block(kTokensOfSinks - queries, queries, 0, kWidthOfSinks);
    head_.keys = head_.keys.block(0, keys, 0, kWidthOfSinks);
    head_.x = {};
    head_.visibility = Visibility::full();
    head_.cross = true;
    info_.head_dim = kWidthOfSinks;
  }

  Results scan() {
    ScanOptions options;
    options.lengths = {static_cast<int>(info_.documents.front())};
    options.measures = {"weights"};
    return headgauge::scan(*this, options);
  }
  // The mean weight of the queries on these keys, in float64.
  double weight_on(const std::vector<Index>& keys) const {
    double mean = 0;
    for (Index t = 0; t < head_.queries.rows(); ++t) {
      double there = 0, all = 0;
      for (Index j = 0; j < head_.keys.rows(); ++j) {
        const Index query = kTokensOfSinks - head_.queries.rows() + t;
        const double weight = std::exp(whole_.logit(query, j));
        all += weight;
        if (std::ranges::find(keys, j) != keys.end()) there += weight;
      }
      mean += there / all / static_cast<double>(head_.queries.rows());
    }
    return mean;
  }

 private:
  HeadWithSinks whole_;
  HeadInput& head_ = heads_.front();
};

// No key of another text is near a query, or late: all rows are asked of all keys, also where there
// are few of them, and the positions are those of the other text.
TEST(SinksOfAnotherText, AreFoundAtAnyOfItsPositions) {
  const std::vector<Index> planted{0, 9, 90};
  for (const Index queries : {16, 80}) {
    AcrossTexts source(queries, 91, planted);
    const Results results = source.scan();
    EXPECT_EQ(sinks_in(results), std::set<Index>(planted.begin(), planted.end())) << queries;
    EXPECT_EQ(results.at("sink_keys", {0, 0, 0}), 3) << queries;
    EXPECT_NEAR(results.at("sink_weight", {0, 0, 0}), source.weight_on(planted), 1e-6) << queries;
    EXPECT_FALSE(std::isnan(results.at("entropy", {0, 0, 0})));
    EXPECT_TRUE(std::isnan(results.at("attention_distance", {0, 0, 0})));
  }
  AcrossTexts none(80, 91, {});
  EXPECT_EQ(none.scan().at("sink_weight", {0, 0, 0}), 0);
  // Too few queries to ask.
  AcrossTexts few(15, 91, planted);
  EXPECT_TRUE(std::isnan(few.scan().at("sink_weight", {0, 0, 0})));
  EXPECT_EQ(sinks_in(few.scan()), std::set<Index>{});
}

}  // namespace
}  // namespace headgauge
