#include "measures/gram.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "measures/made_heads.hpp"
#include "measures/selection_measure.hpp"

namespace headgauge {
namespace {

MadeHead made(Index vocabulary) {
  return make_head(
      {.length = 130, .dimension = 20, .vocabulary = vocabulary, .drift = 0.5, .uneven = 0.5});
}

TEST(Gram, HoldsProductsOfUnitVectorsByFirstAppearance) {
  for (const Index vocabulary : {0, 30}) {
    const MadeHead head = made(vocabulary);
    const Vectors x = head.x();
    ThreadPool pool(2);
    const Gram gram(x, 120, kGramLimit, pool);
    EXPECT_EQ(gram.columns(), 120);
    EXPECT_EQ(gram.all_distinct(), vocabulary == 0);
    std::vector<bool> seen(gram.rows(), false);
    Index count = 0;
    for (Index j = 0; j < 120; ++j) {
      EXPECT_EQ(gram.rows_before(j), count);
      const auto row = static_cast<std::size_t>(gram.row_of(j));
      EXPECT_LE(static_cast<Index>(row), count);
      if (!seen[row]) ++count;
      seen[row] = true;
      EXPECT_EQ(gram.source_row(static_cast<Index>(row)), x.row_index(j));
      const oracle::Vector own(x[j].begin(), x[j].end());
      EXPECT_NEAR(gram.norms()[j], oracle::norm(own), 1e-6);
      for (Index i = 0; i <= j; ++i) {
        const oracle::Vector other(x[i].begin(), x[i].end());
        const double cosine = oracle::dot(own, other) / (oracle::norm(own) * oracle::norm(other));
        EXPECT_NEAR(gram.product(gram.row_of(i), j), cosine, 1e-6);
      }
      EXPECT_EQ(gram.product(gram.row_of(j), j), 1.0f);
    }
    EXPECT_EQ(gram.rows_before(120), gram.rows());
  }
}

TEST(Gram, LeftOutWhereItWouldNotFit) {
  const MadeHead head = made(0);
  ThreadPool pool(1);
  const Gram gram(head.x(), 100, 100, pool);
  const Gram kept(head.x(), 100, kGramLimit, pool);
  EXPECT_FALSE(gram.has_products());
  EXPECT_TRUE(gram.projects());
  EXPECT_TRUE(kept.has_products());
  EXPECT_NEAR(gram.product(3, 50), kept.product(3, 50), 1e-6);
  EXPECT_LT(Gram::bytes(4000, 4000, 64, 100), Gram::bytes(4000, 4000, 64, kGramLimit));
}

// delta of Assumption 2 by brute force.
TEST(Gram, ClosestPairs) {
  for (const Index vocabulary : {0, 40}) {
    const MadeHead head = made(vocabulary);
    const Vectors x = head.x();
    ThreadPool pool(2);
    for (const bool sphere : {true, false}) {
      for (const Index window : {0, 25, 500}) {
        for (const std::size_t limit : {kGramLimit, std::size_t{0}}) {
          const Gram gram(x, 130, limit, pool);
          const std::vector<double> closest = closest_pairs(gram, window, sphere, pool);
          for (Index end = 0; end <= 130; ++end) {
            const Index begin = window == 0 ? 0 : std::max<Index>(0, end - window);
            std::vector<oracle::Vector> keys;
            for (Index j = begin; j < end; ++j) keys.emplace_back(x[j].begin(), x[j].end());
            if (sphere) keys = oracle::on_sphere(keys);
            const double delta = oracle::closest(keys);
            const double found = closest[end];
            if (keys.size() < 2) {
              EXPECT_TRUE(std::isinf(found));
            } else {
              EXPECT_NEAR(found, delta * delta, 2e-6 * std::max(1.0, delta * delta));
            }
            if (end > 40) end += 7;
          }
        }
      }
    }
  }
}

TEST(Gram, SpherePointsAreOfUnitLengthAndDependOnSeedAndPosition) {
  ThreadPool pool(2);
  const Matrix<float> points = sphere_points(5, 33, 10, pool);
  const Matrix<float> more = sphere_points(5, 33, 20, pool);
  const Matrix<float> others = sphere_points(6, 33, 10, pool);
  for (Index j = 0; j < 10; ++j) {
    double square = 0;
    for (const float v : points.row(j)) square += static_cast<double>(v) * v;
    EXPECT_NEAR(square, 1.0, 1e-6);
    EXPECT_EQ(points(j, 7), more(j, 7));
    EXPECT_NE(points(j, 7), others(j, 7));
    if (j > 0) {
      EXPECT_NE(points(j, 7), points(j - 1, 7));
    }
  }
}

}  // namespace
}  // namespace headgauge
