// Whether heads select better under a pattern, or merely see fewer keys.
#include <gtest/gtest.h>

#include "experiments/selectivity.hpp"
#include "headgauge/headgauge.hpp"

namespace headgauge {
namespace {

// Heads whose queries, keys, values and x are independent noise.
class Noise final : public HeadSource {
 public:
  Noise() {
    info_.name = "noise";
    info_.layers = 1;
    info_.heads = kHeads;
    info_.kv_heads = kHeads;
    info_.head_dim = kSize;
    info_.x_dim = kSize;
    info_.has_loss = false;
    info_.documents = {kLength};
    info_.layer_types = {"full_attention"};
    info_.windows = {0};
    std::uint64_t state = 1;
    const auto draw = [&] {  // about normal
      float sum = 0;
      for (int i = 0; i < 12; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        sum += static_cast<float>(state >> 40) / static_cast<float>(1 << 24);
      }
      return sum - 6;
    };
    for (Matrix<float>& m : tensors_) {
      m = Matrix<float>(kLength, kSize);
      for (Index r = 0; r < kLength; ++r) {
        for (float& value : m.row(r)) value = draw();
      }
    }
  }
  const SourceInfo& info() const override { return info_; }
  std::span<const HeadInput> layer(int layer, int document) override {
    heads_.clear();
    for (int h = 0; h < kHeads; ++h) {
      HeadInput head;
      head.layer = layer;
      head.head = head.kv_head = h;
      head.document = document;
      head.queries = tensors_[static_cast<std::size_t>(3 * h)];
      head.keys = tensors_[static_cast<std::size_t>(3 * h + 1)];
      head.values = tensors_[static_cast<std::size_t>(3 * h + 2)];
      head.x = {tensors_.back(), {}, 1};
      head.scale = 0.35f;
      if (!interventions_.empty()) interventions_(layer, h).apply(head);
      heads_.push_back(head);
    }
    return heads_;
  }
  void intervene(const HeadInterventions& interventions) override {
    interventions_ = interventions;
  }

 private:
  static constexpr int kHeads = 48;
  static constexpr Index kLength = 256, kSize = 16;
  SourceInfo info_;
  std::vector<Matrix<float>> tensors_ = std::vector<Matrix<float>>(3 * kHeads + 1);
  HeadInterventions interventions_;
  std::vector<HeadInput> heads_;
};

// Patterns that do not look at the logits of a head of noise leave it fewer keys and no more.
TEST(Selectivity, OnNoisePatternsMerelyLeaveFewerKeys) {
  Noise noise;
  CompareOptions options;
  options.scan.lengths = {256};
  options.scan.measure.top_n = {1, 10};
  options.scan.measures = {"weights", "separability"};
  options.patterns = {"bigbird:window=16,random=16,global=4", "window:size=64", "sinks:window=64",
                      "topk:k=16"};
  const Results results = compare(noise, options, make_interventions(options, noise.info()));
  const auto lines = selectivity_of_patterns(results);
  ASSERT_EQ(lines.size(), 4U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(lines[i].ends_with("the heads merely see fewer keys.")) << lines[i];
  }
  // Six heads are too few to tell.
  options.scan.heads = "0.0,0.1,0.2,0.3,0.4,0.5";
  const Results six = compare(noise, options, make_interventions(options, noise.info()));
  EXPECT_TRUE(selectivity_of_patterns(six)[1].ends_with(
      "whether the heads select better among them is open."))
      << selectivity_of_patterns(six)[1];
  // The oracle has done the selecting, so that nothing is said of the heads.
  EXPECT_TRUE(lines[3].ends_with(").")) << lines[3];
}

}  // namespace
}  // namespace headgauge
