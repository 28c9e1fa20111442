// Two heads of random queries, keys and values, and options of a scan of them.
#pragma once

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "made_source.hpp"

namespace headgauge {

inline constexpr Index kLength = 150, kDimension = 8;

// Two heads that share keys and values.
class PairOfHeads : public SourceOfHeads {
 public:
  explicit PairOfHeads(const Visibility& visibility = Visibility::causal())
      : SourceOfHeads(2, kLength, visibility), tensors_(kLength, 5 * kDimension) {
    std::mt19937 generator(3);
    std::normal_distribution<float> normal;
    for (Index r = 0; r < kLength; ++r) {
      for (float& v : tensors_.row(r)) v = normal(generator);
    }
    const MatrixView<const float> all = std::as_const(tensors_).view();
    const auto part = [&](Index i) { return all.block(0, kLength, i * kDimension, kDimension); };
    for (HeadInput& head : heads_) {
      head.queries = part(head.head);
      head.keys = part(2);
      head.values = part(3);
      head.x = {part(4), {}, 1};
      head.scale = 0.7f;
    }
    info_.kv_heads = 1;
    info_.head_dim = info_.x_dim = kDimension;
    info_.has_x = info_.has_values = true;
  }
  std::vector<HeadInput>& heads() { return heads_; }

 private:
  Matrix<float> tensors_;
};

inline ScanOptions options_with(const std::string& pattern,
                                const std::string& normalizer = "softmax") {
  ScanOptions options;
  options.lengths = {kLength};
  options.measure.top_n = {1, 5, 20};
  options.measure.temperatures = {0.1, 1.0};
  options.measure.critical_max = 20;
  options.pattern = pattern;
  options.normalizer = normalizer;
  return options;
}

}  // namespace headgauge
