// How often heads of random weights get a role: what docs/roles.md says of chance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/headgauge.hpp"

namespace headgauge {
namespace {

constexpr Index kRoleTokens = 512, kWidth = 32, kDimension = 16;
constexpr int kRoleHeads = 250, kLayers = 4, kVocabulary = 500;

// Layers of causal heads with random projections of random embeddings of tokens and of positions;
// tokens by Zipf's law. Logits have about this standard deviation.
class RandomHeads final : public HeadSource {
 public:
  explicit RandomHeads(double sharpness) : generator_(5), sharpness_(sharpness) {
    std::vector<double> law;
    for (int k = 1; k <= kVocabulary; ++k) law.push_back(1.0 / k);
    std::discrete_distribution<int> zipf(law.begin(), law.end());
    for (Index t = 0; t < kRoleTokens; ++t) tokens_.push_back(zipf(generator_));
    const Matrix<float> embedding = normals(kVocabulary, 1), positions = normals(kRoleTokens, 1);
    stream_ = Matrix<float>(kRoleTokens, kWidth);
    for (Index t = 0; t < kRoleTokens; ++t) {
      for (Index d = 0; d < kWidth; ++d) {
        stream_(t, d) = embedding(tokens_[t], d) + positions(t, d);
      }
    }
    info_.layers = kLayers;
    info_.heads = info_.kv_heads = kRoleHeads;
    info_.head_dim = kDimension;
    info_.has_x = info_.has_values = info_.has_loss = false;
    info_.has_tokens = true;
    info_.documents = {kRoleTokens};
  }

  const SourceInfo& info() const override { return info_; }

  std::span<const HeadInput> layer(int layer, int) override {
    projected_.clear();
    heads_.clear();
    for (int h = 0; h < 2 * kRoleHeads; ++h) projected_.push_back(project(normals(kDimension, 1)));
    for (int h = 0; h < kRoleHeads; ++h) {
      HeadInput head;
      head.layer = layer;
      head.head = head.kv_head = h;
      head.queries = std::as_const(projected_[2 * h]).view();
      head.keys = std::as_const(projected_[2 * h + 1]).view();
      head.tokens = tokens_;
      // <q, k> has a variance of (2 kWidth)^2 kDimension.
      head.scale = static_cast<float>(sharpness_ / (2 * kWidth * std::sqrt(1.0 * kDimension)));
      heads_.push_back(head);
    }
    return heads_;
  }

 private:
  Matrix<float> normals(Index rows, float deviation) {
    std::normal_distribution<float> normal(0, deviation);
    Matrix<float> matrix(rows, kWidth);
    for (Index r = 0; r < rows; ++r) {
      for (float& value : matrix.row(r)) value = normal(generator_);
    }
    return matrix;
  }
  Matrix<float> project(const Matrix<float>& weights) const {
    Matrix<float> out(kRoleTokens, kDimension);
    for (Index t = 0; t < kRoleTokens; ++t) {
      for (Index i = 0; i < kDimension; ++i) {
        float sum = 0;
        for (Index d = 0; d < kWidth; ++d) sum += stream_(t, d) * weights(i, d);
        out(t, i) = sum;
      }
    }
    return out;
  }

  std::mt19937_64 generator_;
  double sharpness_;
  SourceInfo info_;
  std::vector<int> tokens_;
  Matrix<float> stream_;
  std::vector<Matrix<float>> projected_;
  std::vector<HeadInput> heads_;
};

TEST(RolesCalibration, RandomHeadsHaveNone) {
  for (const double sharpness : {0.1, 1.0, 4.0, 16.0}) {
    RandomHeads source(sharpness);
    ScanOptions options;
    options.lengths = {static_cast<int>(kRoleTokens)};
    options.measures = {"weights", "roles"};
    const Results results = scan(source, options);
    std::map<std::string, int> counts;
    for (const Flag& flag : results.flags) ++counts[flag.name];
    // Some key is by chance what most queries look for where logits are that far apart.
    const int resting = std::exchange(counts["sinks"], 0);
    EXPECT_LE(resting, sharpness > 4 ? 5 : 0) << sharpness;
    int labelled = 0;
    for (const auto& [name, count] : counts) {
      if (name.starts_with("role_")) labelled += count;
    }
    double largest = 0;
    for (const HeadName& head : measured_heads(results)) {
      for (const char* name :
           {"weight_copies", "weight_induction", "weight_previous", "sink_weight"}) {
        largest = std::max(largest, find_cell_of_head(results, name, head)->value);
      }
    }
    std::printf(
        "logits of deviation %g: %d of %d heads rest on sinks, %d have another role, largest "
        "share %.3f\n",
        sharpness, resting, kRoleHeads * kLayers, labelled, largest);
    EXPECT_EQ(labelled, 0) << sharpness;
  }
}

}  // namespace
}  // namespace headgauge
