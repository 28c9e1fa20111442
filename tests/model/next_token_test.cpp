// Predictions over a vocabulary of several chunks, against all logits at once.
#include "model/next_token.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "normal_rows.hpp"

namespace headgauge {
namespace {

constexpr Index kVocabulary = 4500, kWidth = 6, kTokens = 40;

TEST(NextToken, FindsTheLikeliestInEveryChunk) {
  const Matrix<float> weight = normal_rows(kVocabulary, kWidth, 1);
  const Matrix<float> hidden = normal_rows(kTokens, kWidth, 2);
  TensorView view;
  view.shape = {kVocabulary, kWidth};
  view.bytes = std::as_bytes(std::span(weight.data(), kVocabulary * kWidth));
  std::vector<int> targets;
  for (Index t = 0; t + 1 < kTokens; ++t)
    targets.push_back(static_cast<int>(113 * t % kVocabulary));
  ThreadPool pool(2);
  const std::vector<MatrixView<const float>> models = {hidden.view()};
  const NextTokens found = compare_next_tokens({}, models, view, targets, 0, pool).front();
  ASSERT_EQ(found.likeliest.size(), targets.size());
  std::vector<int> in_chunk(3);
  for (std::size_t t = 0; t < targets.size(); ++t) {
    std::vector<double> logits;
    double sum = 0;
    for (Index v = 0; v < kVocabulary; ++v) {
      double logit = 0;
      for (Index d = 0; d < kWidth; ++d) {
        logit += double{hidden(static_cast<Index>(t), d)} * double{weight(v, d)};
      }
      logits.push_back(logit);
      sum += std::exp(logit);
    }
    const Index best = std::ranges::max_element(logits) - logits.begin();
    EXPECT_EQ(found.likeliest[t], best) << t;
    const double own = logits[targets[t]];
    EXPECT_NEAR(found.losses[t], std::log(sum) - own, 1e-4);
    ++in_chunk[best / 2016];
  }
  for (const int count : in_chunk) EXPECT_GT(count, 0);
}

TEST(NextToken, DivergesByTheSumOverAllChunks) {
  const Matrix<float> weight = normal_rows(kVocabulary, kWidth, 1);
  const Matrix<float> reference = normal_rows(kTokens, kWidth, 2);
  const Matrix<float> hidden = normal_rows(kTokens, kWidth, 3);
  TensorView view;
  view.shape = {kVocabulary, kWidth};
  view.bytes = std::as_bytes(std::span(weight.data(), kVocabulary * kWidth));
  const std::vector<int> targets(kTokens - 1, 7);
  ThreadPool pool(2);
  const std::vector<MatrixView<const float>> models = {hidden.view(), reference.view()};
  const auto found = compare_next_tokens(reference.view(), models, view, targets, 0, pool);
  for (Index t = 0; t < kTokens; ++t) {
    std::vector<double> own(kVocabulary, 0.0), other(kVocabulary, 0.0);
    double own_sum = 0, other_sum = 0, divergence = 0;
    for (Index v = 0; v < kVocabulary; ++v) {
      for (Index d = 0; d < kWidth; ++d) {
        own[v] += double{reference(t, d)} * double{weight(v, d)};
        other[v] += double{hidden(t, d)} * double{weight(v, d)};
      }
      own_sum += std::exp(own[v]);
      other_sum += std::exp(other[v]);
    }
    for (Index v = 0; v < kVocabulary; ++v) {
      divergence += std::exp(own[v]) / own_sum *
                    (own[v] - std::log(own_sum) - other[v] + std::log(other_sum));
    }
    EXPECT_NEAR(found[0].divergence[t], divergence, 1e-4) << t;
    EXPECT_NEAR(found[1].divergence[t], 0, 1e-6) << t;
  }
}

}  // namespace
}  // namespace headgauge
