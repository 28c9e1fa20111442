// A head with sinks that are known, and what a scan of it says of them.
#pragma once

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/headgauge.hpp"

namespace headgauge {

inline constexpr Index kTokensOfSinks = 200, kWidthOfSinks = 8;

// One head of random queries and keys, of which some have what every query looks for.
class HeadWithSinks final : public HeadSource {
 public:
  // The text begins with token number `first` of them. Keys are the vectors of the distances.
  explicit HeadWithSinks(const std::vector<Index>& sinks, float pull = 7,
                         Visibility visibility = Visibility::causal(), Index first = 0)
      : queries_(kTokensOfSinks, kWidthOfSinks), keys_(kTokensOfSinks, kWidthOfSinks) {
    std::mt19937 generator(9);
    std::normal_distribution<float> normal;
    for (Index t = 0; t < kTokensOfSinks; ++t) {
      for (float& v : queries_.row(t)) v = normal(generator);
      for (float& v : keys_.row(t)) v = normal(generator);
      queries_(t, 0) = 1;
      keys_(t, 0) = 0;
    }
    for (const Index sink : sinks) keys_(sink, 0) = pull;
    const Index length = kTokensOfSinks - first;
    head_.queries = std::as_const(queries_).view().block(first, length, 0, kWidthOfSinks);
    head_.keys = std::as_const(keys_).view().block(first, length, 0, kWidthOfSinks);
    head_.x.rows = head_.keys;
    head_.scale = 0.5f;
    head_.visibility = visibility;
    info_.layers = info_.heads = info_.kv_heads = 1;
    info_.head_dim = kWidthOfSinks;
    info_.causal = visibility.is_causal();
    info_.has_values = info_.has_loss = false;
    info_.has_x = true;
    info_.documents = {length};
  }
  const SourceInfo& info() const override { return info_; }
  std::span<const HeadInput> layer(int, int) override { return std::span(&head_, 1); }

  double logit(Index t, Index j) const {
    double product = 0;
    for (Index d = 0; d < kWidthOfSinks; ++d) product += double{queries_(t, d)} * keys_(j, d);
    return 0.5 * product;
  }
  // The softmax of row t in float64.
  std::vector<double> weights(Index t) const {
    std::vector<double> a;
    double sum = 0;
    for (Index j = 0; j <= t; ++j) sum += a.emplace_back(std::exp(logit(t, j)));
    for (double& w : a) w /= sum;
    return a;
  }

 private:
  Matrix<float> queries_, keys_;
  HeadInput head_;
  SourceInfo info_;
};

inline Results scan_weights(HeadSource& source, std::vector<std::string> measures = {"weights"}) {
  ScanOptions options;
  options.lengths = {static_cast<int>(kTokensOfSinks)};
  options.measures = std::move(measures);
  return scan(source, options);
}

inline std::set<Index> sinks_in(const Results& results) {
  std::set<Index> found;
  for (const FoundSink& sink : results.text.sinks.value()) found.insert(sink.position);
  return found;
}

using Sinks = std::set<Index>;

}  // namespace headgauge
