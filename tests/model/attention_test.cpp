// The attention of a forward pass against its definition in float64.
#include "model/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "headgauge/normalize.hpp"
#include "headgauge/patterns.hpp"
#include "heads/scores.hpp"

namespace headgauge {
namespace {

constexpr Index kDimension = 20;
constexpr Index kValueDimension = 12;

struct Made {
  Matrix<float> queries, keys, values;
  explicit Made(Index length)
      : queries(length, 2 * kDimension), keys(length, kDimension), values(length, kValueDimension) {
    std::mt19937 draw(7);
    std::normal_distribution<float> normal;
    for (Matrix<float>* matrix : {&keys, &values, &queries}) {
      for (Index r = 0; r < length; ++r) {
        for (float& value : matrix->row(r)) value = normal(draw);
      }
    }
    // Some keys that nearly all of the weight goes to, late in the text: the largest logit grows.
    for (Index r = 300; r < length; r += 301) {
      for (float& value : keys.row(r)) value *= 6;
    }
  }
  // Two heads that share keys.
  std::vector<HeadInput> heads(Index length) const {
    std::vector<HeadInput> made(2);
    for (int h = 0; h < 2; ++h) {
      made[h].head = h;
      made[h].queries = queries.view().block(0, length, h * kDimension, kDimension);
      made[h].keys = keys.view().block(0, length, 0, kDimension);
      made[h].values = values.view().block(0, length, 0, kValueDimension);
      made[h].scale = 0.3f;
    }
    return made;
  }
};

Matrix<float> attended(const std::vector<HeadInput>& heads, int threads = 2) {
  Matrix<float> out(heads.front().length(), 2 * kValueDimension);
  AttentionWorkspace work;
  ThreadPool pool(threads);
  attend(heads, out, work, pool);
  return out;
}

double dot_of(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

std::vector<double> by_definition(const HeadInput& head, Index query) {
  const Index length = head.length();
  const KeyRange range = head.visibility.range(query, length);
  const auto softmax = make_normalizer("softmax");
  const Normalizer& normalizer = head.normalizer != nullptr ? *head.normalizer : *softmax;
  std::vector<float> all;
  for (Index key = range.begin; key < range.end; ++key) {
    double logit = dot_of(head.queries.row(query), head.keys.row(key));
    if (normalizer.traits().unit_norms) {
      logit /= std::sqrt(dot_of(head.queries.row(query), head.queries.row(query)) *
                         dot_of(head.keys.row(key), head.keys.row(key)));
    } else {
      logit *= static_cast<double>(head.scale);
    }
    if (head.softcap > 0) logit = head.softcap * std::tanh(logit / head.softcap);
    if (!head.position_bias.empty()) {
      logit += head.position_bias[length - 1 + key - query];
    }
    all.push_back(static_cast<float>(logit));
  }
  std::vector<std::uint32_t> kept;
  if (const KeyMask* mask = head.visibility.mask()) {
    mask->select(query, range, all, kept);
  } else {
    for (Index key = range.begin; key < range.end; ++key) {
      kept.push_back(static_cast<std::uint32_t>(key));
    }
  }
  std::vector<double> logits, weights(kept.size()), out(kValueDimension, 0.0);
  for (const std::uint32_t key : kept) {
    logits.push_back(all[key - range.begin]);
  }
  normalizer.weigh(std::span<const double>(logits), {std::ssize(kept), query}, weights);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const auto value = head.values.row(static_cast<Index>(kept[i]));
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += weights[i] * value[c];
  }
  return out;
}

void expect_as_defined(const std::vector<HeadInput>& heads) {
  const Matrix<float> out = attended(heads);
  for (const HeadInput& head : heads) {
    for (Index query = 0; query < head.length(); query += query < 70 ? 1 : 37) {
      const std::vector<double> expected = by_definition(head, query);
      for (Index c = 0; c < kValueDimension; ++c) {
        ASSERT_NEAR(out(query, head.head * kValueDimension + c), expected[c], 2e-5)
            << "head " << head.head << " query " << query << " column " << c;
      }
    }
  }
}

TEST(Attention, IsAsDefinedAtEveryLength) {
  const Made made(1000);
  for (const Index length : {1, 2, 63, 64, 65, 127, 128, 129, 239, 240, 241, 481, 1000}) {
    SCOPED_TRACE(length);
    expect_as_defined(made.heads(length));
  }
}

TEST(Attention, IsAsDefinedWhateverAQuerySees) {
  const Made made(700);
  for (const Visibility& visibility :
       {Visibility::full(), Visibility::sliding_window(10), Visibility::sliding_window(500)}) {
    auto heads = made.heads(700);
    heads[1].visibility = visibility;
    expect_as_defined(heads);
  }
}

TEST(Attention, IsAsDefinedWhereABiasHidesWholeBlocks) {
  const Made made(700);
  auto heads = made.heads(700);
  std::vector<float> bias(2 * 700 - 1);
  for (Index i = 0; i < 700 - 300; ++i) {  // of keys more than 300 before the query
    bias[i] = -std::numeric_limits<float>::infinity();
  }
  for (HeadInput& head : heads) head.position_bias = bias;
  expect_as_defined(heads);
}

TEST(Attention, IsAsDefinedUnderEveryChange) {
  const Made made(600);
  std::vector<float> bias(2 * 600 - 1);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = 0.01f * static_cast<float>(i % 97);
  for (const char* spec : {"softmax:t=0.5", "ssmax", "logn-qwen:train=64", "cosine", "uniform",
                           "sparsemax", "sigmoid"}) {
    SCOPED_TRACE(spec);
    const auto normalizer = make_normalizer(spec);
    auto heads = made.heads(600);
    heads[0].normalizer = normalizer.get();  // the other head shares its keys
    expect_as_defined(heads);
    if (normalizer->traits().unit_norms) continue;
    heads[0].softcap = 3;
    heads[0].position_bias = bias;
    expect_as_defined(heads);
  }
  for (const char* spec :
       {"window:size=16", "sinks:sinks=4,window=28", "bigbird:window=8,random=8", "topk:k=8"}) {
    SCOPED_TRACE(spec);
    const auto pattern = make_pattern(spec);
    auto heads = made.heads(600);
    const auto ssmax = make_normalizer("ssmax");
    heads[1].normalizer = ssmax.get();
    for (HeadInput& head : heads) head.visibility = head.visibility.masked(pattern->mask(head));
    expect_as_defined(heads);
  }
}

TEST(Attention, WhatChangesNothingGivesTheSameBits) {
  const Made made(600);
  const Matrix<float> expected = attended(made.heads(600));
  const auto softmax = make_normalizer("softmax:t=1");
  const auto pattern = make_pattern("sinks:sinks=4,window=600");
  auto heads = made.heads(600);
  heads[0].normalizer = softmax.get();
  heads[1].visibility = heads[1].visibility.masked(pattern->mask(heads[1]));
  const Matrix<float> found = attended(heads);
  for (Index r = 0; r < 600; ++r) {
    ASSERT_TRUE(std::ranges::equal(found.row(r), expected.row(r))) << r;
  }
}

TEST(Attention, OfARowHasTheSameBitsInALongerTextAndOnAnyNumberOfThreads) {
  const Made made(1000);
  const Matrix<float> whole = attended(made.heads(1000));
  for (const Index length : {70, 481, 999}) {
    const Matrix<float> part = attended(made.heads(length), 1);
    for (Index r = 0; r < length; ++r) {
      ASSERT_TRUE(std::ranges::equal(part.row(r), whole.row(r))) << length << " " << r;
    }
  }
}

// What the heads put out where others score `rows` rows of each, 16 at a time, the last ones first.
Matrix<float> attended_by_others(std::vector<HeadInput> heads, Index rows) {
  const Index length = heads.front().length();
  Matrix<float> out(length, 2 * kValueDimension);
  AttentionWorkspace work;
  ThreadPool pool(2);
  ScoredHeads scored;
  scored.begin(heads, out, work, pool);
  for (const HeadInput& head : heads) {
    if (head.output == nullptr) continue;
    PackedMatrix keys;
    pack_keys(head.keys, head.scale, false, keys);
    Matrix<float> logits(16, length);
    for (Index first = (rows - 1) / 16 * 16; first >= 0; first -= 16) {
      const Index count = std::min<Index>(16, rows - first);
      const Index seen = head.visibility.range(first + count - 1, length).end;
      const auto tile = logits.view().block(0, count, 0, seen);
      gemm(head.queries.block(first, count, 0, kDimension), keys, tile, {.col_end = seen});
      for (Index r = 0; r < count; ++r) finish_logits(head, first + r, 0, tile.row(r));
      head.output->add(first, tile);
    }
  }
  scored.finish(heads, out, work, pool);
  EXPECT_TRUE(std::ranges::all_of(heads, [](const HeadInput& h) { return h.output == nullptr; }));
  return out;
}

void expect_the_same_bits(const std::vector<HeadInput>& heads) {
  const Matrix<float> expected = attended(heads);
  const Index length = expected.rows();
  for (const Index rows : {length, length / 3}) {
    const Matrix<float> found = attended_by_others(heads, rows);
    for (Index r = 0; r < length; ++r) {
      ASSERT_TRUE(std::ranges::equal(found.row(r), expected.row(r))) << rows << " row " << r;
    }
  }
}

TEST(Attention, OfRowsThatOthersScoreHasTheSameBits) {
  const Made made(600);
  std::vector<float> bias(2 * 600 - 1);
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] = 0.01f * static_cast<float>(i % 97);
  const auto heads_with = [&](const auto& change) {
    auto heads = made.heads(600);
    change(heads[1]);
    return heads;
  };
  expect_the_same_bits(made.heads(600));
  expect_the_same_bits(heads_with([](HeadInput& head) { head.visibility = Visibility::full(); }));
  expect_the_same_bits(
      heads_with([](HeadInput& head) { head.visibility = Visibility::sliding_window(90); }));
  expect_the_same_bits(heads_with([&](HeadInput& head) {
    head.softcap = 3;
    head.position_bias = bias;
  }));
  for (const char* spec : {"softmax:t=0.5", "ssmax", "cosine", "sparsemax"}) {
    SCOPED_TRACE(spec);
    const auto normalizer = make_normalizer(spec);
    expect_the_same_bits(heads_with([&](HeadInput& head) { head.normalizer = normalizer.get(); }));
  }
  for (const char* spec : {"sinks:sinks=4,window=28", "bigbird:window=8,random=8", "topk:k=8"}) {
    SCOPED_TRACE(spec);
    const auto pattern = make_pattern(spec);
    expect_the_same_bits(heads_with(
        [&](HeadInput& head) { head.visibility = head.visibility.masked(pattern->mask(head)); }));
  }
}

}  // namespace
}  // namespace headgauge
