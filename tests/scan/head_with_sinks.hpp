// A head with sinks that are known, and what a scan of it says of them.
#pragma once

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "made_source.hpp"

namespace headgauge {

inline constexpr Index kTokensOfSinks = 200, kWidthOfSinks = 8;

// One head of random queries and keys, of which some have what every query looks for.
class HeadWithSinks final : public SourceOfHeads {
 public:
  // The text begins with token number `first` of them. Keys are the vectors of the distances.
  explicit HeadWithSinks(const std::vector<Index>& sinks, float pull = 7,
                         const Visibility& visibility = Visibility::causal(), Index first = 0)
      : SourceOfHeads(1, kTokensOfSinks - first, visibility),
        queries_(kTokensOfSinks, kWidthOfSinks),
        keys_(kTokensOfSinks, kWidthOfSinks) {
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
    HeadInput& head = heads_.front();
    head.queries = std::as_const(queries_).view().block(first, length, 0, kWidthOfSinks);
    head.keys = std::as_const(keys_).view().block(first, length, 0, kWidthOfSinks);
    head.x.rows = head.keys;
    head.scale = 0.5f;
    info_.head_dim = kWidthOfSinks;
    info_.has_x = true;
  }

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
};

inline ScanOptions options_of_sinks(std::vector<std::string> measures = {"weights"}) {
  ScanOptions options;
  options.lengths = {static_cast<int>(kTokensOfSinks)};
  options.measures = std::move(measures);
  return options;
}

inline Results scan_weights(HeadSource& source) {
  return scan(source, options_of_sinks());
}

inline std::set<Index> sinks_in(const Results& results) {
  std::set<Index> found;
  for (const FoundSink& sink : results.text.sinks.value()) found.insert(sink.position);
  return found;
}

using Sinks = std::set<Index>;

}  // namespace headgauge
