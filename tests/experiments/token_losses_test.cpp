// The tokens whose loss a comparison changes most: which are kept, and with what.
#include "experiments/next_token_metrics.hpp"

#include <gtest/gtest.h>

#include "headgauge/headgauge.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

NextTokens losses(std::vector<double> values) {
  NextTokens next;
  next.losses = std::move(values);
  return next;
}

// A text of four tokens, a case of five whose last two are its answer, and its control.
SourceInfo text_and_case() {
  SourceInfo info;
  info.documents = {4, 5, 5};
  info.answers.resize(3);
  info.answers[1] = {.task = "keys", .tokens = 2};
  info.answers[2] = {.task = "keys", .tokens = 2, .control_of = 1};
  return info;
}

TEST(TokenLosses, OfTextsAndAnswersAreAtTheirPositions) {
  const Predictions original = {losses({1, 2, 3}), losses({1, 1}), losses({9, 9})};
  const Predictions changed = {losses({1, 2.5, 3}), losses({1, 4}), {}};
  const auto found =
      find_token_losses(text_and_case(), std::vector<Predictions>{original, changed}, 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].document, 0);
  EXPECT_EQ(found[0].position, 2);  // the second prediction of a text is of its third token
  EXPECT_EQ(found[0].losses, (std::vector<double>{2, 2.5}));
  EXPECT_EQ(found[0].task, "");
  EXPECT_EQ(found[1].task, "keys");
  EXPECT_EQ(found[1].document, 1);
  EXPECT_EQ(found[1].position, 4);
  EXPECT_EQ(found[1].losses, (std::vector<double>{1, 4}));
}

TEST(TokenLosses, EachChangeChoosesItsOwnAndATokenStandsOnce) {
  const SourceInfo info = text_and_case();
  const Predictions original = {losses({0, 0, 0}), {}, {}};
  const Predictions first = {losses({5, 0, 1}), {}, {}};
  const Predictions second = {losses({-5, 2, 0}), {}, {}};
  const std::vector<Predictions> all = {original, first, second};
  std::vector<Index> positions;
  for (const TokenLoss& token : find_token_losses(info, all, 1))
    positions.push_back(token.position);
  EXPECT_EQ(positions, (std::vector<Index>{1}));
  positions.clear();
  for (const TokenLoss& token : find_token_losses(info, all, 2))
    positions.push_back(token.position);
  EXPECT_EQ(positions, (std::vector<Index>{1, 2, 3}));
  EXPECT_EQ(find_token_losses(info, all, 1).front().losses, (std::vector<double>{0, 5, -5}));
}

TEST(TokenLosses, AmongEqualChangesTheFirstTokenWins) {
  const Predictions original = {losses({0, 0, 0}), {}, {}};
  const Predictions changed = {losses({1, -1, 1}), {}, {}};
  const auto found =
      find_token_losses(text_and_case(), std::vector<Predictions>{original, changed}, 2);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].position, 2);
}

// The mean over all tokens is the loss that the comparison writes.
TEST(TokenLosses, OfAllTokensAverageToTheLoss) {
  const auto source = testing::open_model({{"text", testing::made_ids(96, 3), ""}});
  CompareOptions options;
  options.scan.lengths = {96};
  options.scan.measures = {"model"};
  options.scan.examples = 1000;
  options.normalizers = {"sparsemax"};
  const Results results = compare(*source, options, make_interventions(options, source->info()));
  ASSERT_EQ(results.token_losses.size(), 95u);
  for (Index k = 0; k < 2; ++k) {
    double sum = 0;
    for (const TokenLoss& token : results.token_losses) sum += token.losses[k];
    EXPECT_NEAR(sum / 95, results.at(metric::loss, {k, 0, 0}), 1e-12);
  }
  ASSERT_EQ(results.passages.size(), 1u);
  EXPECT_EQ(results.passages[0].tokens.size(), 96u);
  options.each = Each::layer;
  EXPECT_TRUE(
      compare(*source, options, make_interventions(options, source->info())).token_losses.empty());
}

}  // namespace
}  // namespace headgauge
