// Errors of subsamples against attention written out in float64, token by token.
#include "convergence/subsample.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "convergence/drawn_head.hpp"

namespace headgauge {
namespace {

using Vector = std::vector<double>;

struct Moments {
  Vector mean;
  std::vector<Vector> covariance;
};

Moments moments(const std::vector<Vector>& rows) {
  const std::size_t d = rows.front().size();
  const auto n = static_cast<double>(rows.size());
  Moments found{Vector(d), std::vector<Vector>(d, Vector(d))};
  for (const Vector& row : rows) {
    for (std::size_t a = 0; a < d; ++a) found.mean[a] += row[a] / n;
  }
  for (const Vector& row : rows) {
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b < d; ++b) {
        found.covariance[a][b] += (row[a] - found.mean[a]) * (row[b] - found.mean[b]) / n;
      }
    }
  }
  return found;
}

// The outputs of queries over keys, each as often as it is listed.
std::vector<Vector> attend(const DrawnHead& drawn, const Normalizer& normalizer,
                           const std::vector<Index>& queries, const std::vector<Index>& keys) {
  std::vector<Vector> outputs;
  for (const Index query : queries) outputs.push_back(drawn.output(normalizer, query, keys));
  return outputs;
}

std::vector<Index> range(Index begin, Index end) {
  std::vector<Index> all;
  for (Index i = begin; i < end; ++i) all.push_back(i);
  return all;
}

// Draws as documented: word i of the stream times the number of tokens, over 2^32.
std::vector<Index> draws(const SubsampleOptions& options, std::size_t point, Index replicate,
                         bool of_queries, int document, Index begin, Index size) {
  const RandomStream random(options.seed, RandomDomain::subsample,
                            static_cast<std::uint32_t>(2 * point + (of_queries ? 1 : 0)),
                            static_cast<std::uint32_t>(replicate + (Index{document} << 20)));
  std::vector<Index> found;
  for (int i = 0; i < options.tokens[point]; ++i) {
    const auto word = random.block(static_cast<std::uint32_t>(i / 4))[i % 4];
    found.push_back(begin + static_cast<Index>(std::floor(word * 0x1p-32 * double(size))));
  }
  return found;
}

struct SubsampleCase {
  const char* normalizer;
  double sharpness;
  Visibility visibility;
  double tolerance;
};

class SubsampleErrorsOf : public ::testing::TestWithParam<SubsampleCase> {};

TEST_P(SubsampleErrorsOf, AreThoseOfAttentionWrittenOut) {
  const SubsampleCase& of = GetParam();
  const Index length = 80;
  DrawnHead drawn(length, 5, of.sharpness, of.visibility);
  drawn.head.document = 3;
  drawn.head.softcap = of.sharpness > 2 ? 0.0f : 4.0f;
  const auto normalizer = make_normalizer(of.normalizer);
  ThreadPool pool(2);
  const FullAttention full = full_attention(drawn.head, *normalizer, length, pool);
  const SubsampleOptions options{.tokens = {9, 40, 100}, .replicates = 7, .seed = 11};
  const SubsampleErrors found = subsample_errors(drawn.head, *normalizer, full, options, pool);

  const bool causal = of.visibility.is_causal();
  const Index begin = of.visibility.kind() == Visibility::Kind::sliding_window ? 40 : 0;
  const Index split = causal ? begin + (length - begin) * 3 / 4 : length;
  const Index first_query = causal ? split : 0;
  const Moments all =
      moments(attend(drawn, *normalizer, range(first_query, length), range(begin, split)));
  double trace = 0, norm = 0;
  for (std::size_t a = 0; a < all.mean.size(); ++a) {
    trace += all.covariance[a][a];
    for (const double x : all.covariance[a]) norm += x * x;
  }
  EXPECT_NEAR(found.mean_unit, std::sqrt(trace), 2e-6 * std::sqrt(trace));
  EXPECT_NEAR(found.covariance_unit, std::sqrt(norm), 4e-6 * std::sqrt(norm));

  for (std::size_t point = 0; point < options.tokens.size(); ++point) {
    Vector means, covariances;
    for (Index replicate = 0; replicate < options.replicates; ++replicate) {
      const auto keys = draws(options, point, replicate, false, 3, begin, split - begin);
      const auto queries =
          causal ? draws(options, point, replicate, true, 3, first_query, length - first_query)
                 : keys;
      const Moments own = moments(attend(drawn, *normalizer, queries, keys));
      double mean = 0, covariance = 0;
      for (std::size_t a = 0; a < own.mean.size(); ++a) {
        mean += std::pow(own.mean[a] - all.mean[a], 2);
        for (std::size_t b = 0; b < own.mean.size(); ++b) {
          covariance += std::pow(own.covariance[a][b] - all.covariance[a][b], 2);
        }
      }
      means.push_back(std::sqrt(mean));
      covariances.push_back(std::sqrt(covariance));
    }
    const auto check = [&](const Vector& errors, const Spread& summary) {
      double mean = 0, square = 0;
      for (const double e : errors) mean += e / static_cast<double>(errors.size());
      for (const double e : errors) square += (e - mean) * (e - mean);
      EXPECT_NEAR(summary.mean, mean, of.tolerance * mean);
      const double deviation = std::sqrt(square / static_cast<double>(errors.size() - 1));
      EXPECT_NEAR(summary.deviation, deviation, of.tolerance * mean);
    };
    check(means, found.mean[point]);
    check(covariances, found.covariance[point]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Normalizers, SubsampleErrorsOf,
    ::testing::Values(
        SubsampleCase{"softmax", 1.5, Visibility::full(), 2e-5},
        SubsampleCase{"softmax", 1.5, Visibility::causal(), 2e-5},
        SubsampleCase{"softmax", 1.5, Visibility::sliding_window(40), 2e-5},
        // Keys drawn lie so far below the largest of all that their weights are 0 in float32.
        SubsampleCase{"softmax", 60, Visibility::full(), 3e-4},
        SubsampleCase{"softcap:c=2", 1.5, Visibility::full(), 2e-5},
        SubsampleCase{"entmax", 1.5, Visibility::causal(), 2e-5},
        SubsampleCase{"ssmax", 1.5, Visibility::full(), 2e-5},
        SubsampleCase{"sigmoid", 1.5, Visibility::full(), 2e-5},
        SubsampleCase{"softpick", 1.5, Visibility::full(), 2e-5}));

TEST(Subsamples, HaveTheSameBitsOnAnyNumberOfThreads) {
  DrawnHead drawn(100, 8, 1, Visibility::causal());
  const auto normalizer = make_normalizer("softmax");
  const SubsampleOptions options{.tokens = {10, 30, 70}, .replicates = 20, .seed = 1};
  std::vector<SubsampleErrors> found;
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    const FullAttention full = full_attention(drawn.head, *normalizer, 100, pool);
    found.push_back(subsample_errors(drawn.head, *normalizer, full, options, pool));
  }
  for (std::size_t p = 0; p < options.tokens.size(); ++p) {
    for (const SubsampleErrors& other : found) {
      EXPECT_EQ(found[0].mean[p].mean, other.mean[p].mean);
      EXPECT_EQ(found[0].covariance[p].deviation, other.covariance[p].deviation);
    }
  }
}

TEST(Subsamples, RefuseScoresThatAreNotNumbers) {
  DrawnHead drawn(64, 4, 1, Visibility::full());
  drawn.keys(3, 1) = std::numeric_limits<float>::quiet_NaN();
  ThreadPool pool(1);
  EXPECT_THROW(full_attention(drawn.head, *make_normalizer("softmax"), 64, pool), BadInputError);
}

}  // namespace
}  // namespace headgauge
