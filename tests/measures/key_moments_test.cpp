// Theorem T2d (docs/mathematics.md 3) against the enumeration of every way to deal the keys.
#include "measures/key_moments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "headgauge/parallel.hpp"

namespace headgauge {
namespace {

using Points = std::vector<std::vector<double>>;

double dot_of(const std::vector<double>& x, const std::vector<double>& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

Gram gram_of(const Points& points, ThreadPool& pool) {
  static Matrix<float> rows;
  rows = Matrix<float>(std::ssize(points), std::ssize(points[0]));
  for (Index j = 0; j < rows.rows(); ++j) {
    for (Index d = 0; d < rows.cols(); ++d) rows(j, d) = static_cast<float>(points[j][d]);
  }
  Vectors x;
  x.rows = rows;
  return Gram(x, rows.rows(), std::size_t{1} << 20, pool);
}

// Vectors of length 1: spread, repeated, opposite, in a plane, or close to one direction.
Points points_of(int kind, int n, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const int dimension = kind == 3 ? 2 : 3;
  Points points;
  for (int j = 0; j < n; ++j) {
    std::vector<double> x(dimension);
    for (double& value : x) value = normal(random);
    if (kind == 1 && j % 2 == 1) x = points.back();
    if (kind == 2 && j % 2 == 1) {
      std::ranges::transform(points.back(), x.begin(), std::negate<>());
    }
    if (kind == 4) x[0] += 6.0;
    const double length = std::sqrt(dot_of(x, x));
    for (double& value : x) value /= length;
    points.push_back(x);
  }
  return points;
}

// Weights in falling order: even, steep, or with a gap behind the first `members`.
std::vector<double> weights_of(int kind, int n, int members, std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform;
  std::vector<double> a(n);
  for (double& value : a) value = std::exp(-(kind == 1 ? 8.0 : 1.0) * uniform(random));
  std::ranges::sort(a, std::greater<>());
  for (int j = members; j < n && kind == 2; ++j) a[j] *= 0.05;
  for (int j = members; j < n && kind == 3; ++j) a[j] = 0.0;
  // The bound takes weights in single precision.
  for (double& value : a) value = static_cast<float>(value);
  return a;
}

// The share of the members with X_i < r, and the mean of X_0^2, over all ways to deal the keys.
struct Dealt {
  double separability = 0, square = 0;
};
Dealt deal(const std::vector<double>& a, int members, const Points& points) {
  std::vector<int> to(points.size());
  std::iota(to.begin(), to.end(), 0);
  const auto length = [&](const std::vector<double>& sum, int j) {
    double square = 0;
    for (std::size_t d = 0; d < sum.size(); ++d) {
      const double gap = sum[d] - a[j] * points[to[j]][d];
      square += gap * gap;
    }
    return std::sqrt(square);
  };
  Dealt dealt;
  double ways = 0;
  do {
    std::vector<double> sum(points[0].size());
    for (int j = 0; j < members; ++j) {
      for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += a[j] * points[to[j]][d];
    }
    double radius = std::numeric_limits<double>::infinity();
    for (int j = members; j < std::ssize(points); ++j) radius = std::min(radius, length(sum, j));
    int inside = 0;
    for (int i = 0; i < members; ++i) inside += length(sum, i) < radius - 1e-9 ? 1 : 0;
    dealt.separability += static_cast<double>(inside) / members;
    dealt.square += length(sum, 0) * length(sum, 0);
    ++ways;
  } while (std::ranges::next_permutation(to).found);
  dealt.separability /= ways;
  dealt.square /= ways;
  return dealt;
}

TEST(DealtKeys, BoundHoldsForAnyGeometryAndIsSometimesTight) {
  std::mt19937_64 random(1);
  ThreadPool pool(1);
  double closest = 1, informative = 0, cases = 0;
  for (int trial = 0; trial < 600; ++trial) {
    const int n = 3 + trial % 4;
    const int members = 1 + static_cast<int>(random() % static_cast<unsigned>(n - 1));
    const Points points = points_of(trial % 5, n, random);
    const std::vector<double> a = weights_of(trial / 5 % 4, n, members, random);
    const KeyMoments moments = key_moments(gram_of(points, pool), Visibility::full(), n).front();
    const std::vector<float> top(a.begin(), a.begin() + members);
    const double bound = dealt_separability_lower(top, a[members], moments);
    const Dealt dealt = deal(a, members, points);
    EXPECT_LE(bound, dealt.separability + 1e-6) << "trial " << trial;
    EXPECT_GE(bound, 0);
    closest = std::min(closest, dealt.separability - bound);
    informative += bound > 0.05 ? 1 : 0;
    ++cases;
    // E X_0^2 = c A_0^2 + (1 - c) B_0 for vectors of length 1.
    double mass = 0, squares = 0;
    for (int j = 1; j < members; ++j) {
      mass += a[j];
      squares += a[j] * a[j];
    }
    EXPECT_NEAR(dealt.square, moments.cosine * mass * mass + (1 - moments.cosine) * squares, 1e-6);
  }
  EXPECT_GT(informative, 0.5 * cases);
  EXPECT_LT(closest, 1e-6);
}

// Three vectors, two of them the same, at 120 degrees from the third, with weights 1, 1, 0.
TEST(DealtKeys, EqualityIsPossible) {
  ThreadPool pool(1);
  const Points points = {{1, 0}, {1, 0}, {-0.5, std::sqrt(0.75)}};
  const KeyMoments moments = key_moments(gram_of(points, pool), Visibility::full(), 3).front();
  EXPECT_NEAR(dealt_separability_lower(std::vector<float>{1, 1}, 0, moments), 1.0 / 3, 1e-6);
  EXPECT_NEAR(deal({1, 1, 0}, 2, points).separability, 1.0 / 3, 1e-12);
}

TEST(DealtKeys, EqualWeightsAndEqualVectorsProveNothing) {
  ThreadPool pool(1);
  std::mt19937_64 random(2);
  const KeyMoments spread =
      key_moments(gram_of(points_of(0, 6, random), pool), Visibility::full(), 6).front();
  EXPECT_EQ(dealt_separability_lower(std::vector<float>(3, 0.1f), 0.1f, spread), 0);
  EXPECT_EQ(dealt_separability_lower(std::vector<float>(3, 0.0f), 0.0, spread), 0);
  // One key above the others is apart wherever it lies.
  EXPECT_NEAR(dealt_separability_lower(std::vector<float>{0.5f}, 0.1, spread), 1, 1e-12);
}

// Keeps every third key and the query's own.
class Thirds final : public KeyMask {
 public:
  void select(Index query, KeyRange range, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    keys.clear();
    for (Index j = range.begin; j < range.end; ++j) {
      if (j % 3 == 0 || j == query) keys.push_back(static_cast<std::uint32_t>(j));
    }
  }
};

TEST(KeyMoments, AreThoseOfTheKeysThatEachQuerySees) {
  ThreadPool pool(1);
  std::mt19937_64 random(3);
  const Points points = points_of(0, 40, random);
  const Gram gram = gram_of(points, pool);
  for (const Visibility& visibility :
       {Visibility::causal(), Visibility::full(), Visibility::sliding_window(7),
        Visibility::causal().masked(std::make_shared<Thirds>())}) {
    const std::vector<KeyMoments> moments = key_moments(gram, visibility, 40);
    for (Index query = 0; query < 40; ++query) {
      const KeyRange range = visibility.range(query, 40);
      std::vector<std::uint32_t> keys;
      if (visibility.mask() != nullptr) {
        visibility.mask()->select(query, range, {}, keys);
      } else {
        for (Index j = range.begin; j < range.end; ++j) keys.push_back(static_cast<unsigned>(j));
      }
      if (keys.size() < 2) {
        EXPECT_TRUE(std::isnan(moments[query].cosine));
        continue;
      }
      double sum = 0, squares = 0, rows = 0;
      for (const std::uint32_t j : keys) {
        double row = 0;
        for (const std::uint32_t k : keys) {
          if (j == k) continue;
          const double g = dot_of(points[j], points[k]);
          row += g;
          squares += g * g;
        }
        sum += row;
        rows += row * row;
      }
      const auto n = static_cast<double>(keys.size());
      const double cosine = sum / (n * (n - 1));
      EXPECT_NEAR(moments[query].cosine, cosine, 1e-6);
      if (n < 3) continue;
      // Subtracts what h_j = (R_j - (n - 1) k) / (n - 2) explains of the cosines.
      const double above = (rows - n * (n - 1) * (n - 1) * cosine * cosine) / ((n - 2) * (n - 2));
      EXPECT_NEAR(moments[query].of_keys, above / (n - 1), 1e-6);
      EXPECT_NEAR(moments[query].of_pairs,
                  (squares - n * (n - 1) * cosine * cosine - 2 * (n - 2) * above) / (n * (n - 1)),
                  1e-6);
    }
  }
}

// Keeps every second key, now the even and now the odd ones.
class Halves final : public KeyMask {
 public:
  void select(Index query, KeyRange range, std::span<const float>,
              std::vector<std::uint32_t>& keys) const override {
    keys.clear();
    for (Index j = range.begin; j < range.end; ++j) {
      if (j % 2 == query % 2) keys.push_back(static_cast<std::uint32_t>(j));
    }
  }
};

TEST(KeyMoments, LeftOutWhereAMaskChoosesOtherKeysEachTime) {
  ThreadPool pool(1);
  std::mt19937_64 random(5);
  const Gram gram = gram_of(points_of(0, 60, random), pool);
  const Visibility changing = Visibility::causal().masked(std::make_shared<Halves>());
  EXPECT_TRUE(key_moments(gram, changing, 60).empty());
  EXPECT_EQ(key_moments(gram, Visibility::full(), 60).size(), 60U);
}

TEST(KeyMoments, UndefinedBesideAKeyOfLengthZero) {
  ThreadPool pool(1);
  Points points = {{1, 0}, {0, 1}, {0, 0}, {1, 1}};
  const std::vector<KeyMoments> moments =
      key_moments(gram_of(points, pool), Visibility::sliding_window(2), 4);
  EXPECT_NEAR(moments[1].cosine, 0, 1e-6);
  EXPECT_TRUE(std::isnan(moments[2].cosine));
  EXPECT_TRUE(std::isnan(moments[3].cosine));
}

}  // namespace
}  // namespace headgauge
