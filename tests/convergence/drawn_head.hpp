// A random head with queries, keys and values of its own.
#pragma once

#include <cstdint>
#include <random>

#include "headgauge/heads.hpp"
#include "headgauge/normalize.hpp"

namespace headgauge {

struct DrawnHead {
  Matrix<float> queries, keys, values;
  HeadInput head;

  // Logits of standard deviation about `sharpness`.
  DrawnHead(Index length, Index dimension, double sharpness, Visibility visibility,
            std::uint64_t seed = 7)
      : queries(length, dimension), keys(length, dimension), values(length, dimension) {
    std::mt19937_64 generator(seed);
    std::normal_distribution<double> normal;
    for (Matrix<float>* matrix : {&queries, &keys, &values}) {
      // A direction that all share, so that means are not 0.
      for (Index r = 0; r < length; ++r) {
        for (Index c = 0; c < dimension; ++c) {
          (*matrix)(r, c) = static_cast<float>(normal(generator) + (c == 0 ? 0.7 : 0.0));
        }
      }
    }
    head.layer = 1;
    head.head = 2;
    head.queries = queries.view();
    head.keys = keys.view();
    head.values = values.view();
    head.visibility = visibility;
    head.scale = static_cast<float>(sharpness / std::sqrt(static_cast<double>(dimension)));
  }
  DrawnHead(const DrawnHead&) = delete;
  DrawnHead& operator=(const DrawnHead&) = delete;

  double logit(Index query, Index key) const {
    double sum = 0;
    for (Index c = 0; c < queries.cols(); ++c) sum += double{queries(query, c)} * keys(key, c);
    sum *= head.scale;
    return head.softcap > 0 ? head.softcap * std::tanh(sum / head.softcap) : sum;
  }

  // The output of a query over keys, each as often as it is listed.
  std::vector<double> output(const Normalizer& normalizer, Index query,
                             const std::vector<Index>& of) const {
    std::vector<double> logits, weights(of.size()), out(values.cols());
    for (const Index key : of) logits.push_back(logit(query, key));
    normalizer.weigh(logits, {std::ssize(of), query}, weights);
    for (std::size_t j = 0; j < of.size(); ++j) {
      for (std::size_t c = 0; c < out.size(); ++c) out[c] += weights[j] * values(of[j], c);
    }
    return out;
  }
};

}  // namespace headgauge
