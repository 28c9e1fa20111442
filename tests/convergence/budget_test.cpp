// Budgets against sets of keys written out in float64.
#include "convergence/budget.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "convergence/drawn_head.hpp"

namespace headgauge {
namespace {

using Vector = std::vector<double>;
using Keys = std::vector<Index>;

double relative(const Vector& a, const Vector& b) {
  double difference = 0, length = 0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    difference += (a[c] - b[c]) * (a[c] - b[c]);
    length += b[c] * b[c];
  }
  return std::sqrt(difference / length);
}

Keys visible(const DrawnHead& drawn, Index query, Index length) {
  const KeyRange range = drawn.head.visibility.range(query, length);
  Keys keys(range.size());
  std::iota(keys.begin(), keys.end(), range.begin);
  return keys;
}

// The keys in the order of their distance from the query, the first four of the text before all; of
// two at the same distance the one before the query.
Keys by_recency(Keys keys, Index query) {
  const Index sinks = 4;
  std::ranges::stable_sort(keys, {}, [=](Index key) {
    return key < sinks ? -1.0 : std::abs(double(key - query)) + (key > query ? 0.5 : 0.0);
  });
  return keys;
}

struct BudgetCase {
  const char* normalizer;
  Visibility visibility;
};

class BudgetOf : public ::testing::TestWithParam<BudgetCase> {};

TEST_P(BudgetOf, IsThatOfSetsWrittenOut) {
  const BudgetCase& of = GetParam();
  const Index length = 72;
  DrawnHead drawn(length, 20, 1.5, of.visibility);
  const auto normalizer = make_normalizer(of.normalizer);
  ThreadPool pool(2);
  const BudgetOptions options{.draws = 3, .queries = 5, .seed = 4};
  const BudgetCurves found = budget_curves(drawn.head, *normalizer, length, options, pool);
  EXPECT_EQ(found.keys, budget_points(of.visibility.range(length - 1, length).size()));
  std::vector<Keys> permutations;
  for (std::uint32_t draw = 0; draw < 3; ++draw) {
    const RandomStream random(options.seed, RandomDomain::budget_keys, 0, draw);
    Keys order(length);
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      const auto word = random.block(static_cast<std::uint32_t>(i / 4))[i % 4];
      const auto left = static_cast<double>(order.size() - i);
      std::swap(order[i], order[i + static_cast<std::size_t>(std::floor(word * 0x1p-32 * left))]);
    }
    permutations.push_back(order);
  }
  // Five of the 18 rows 54..71, each in the middle of its fifth.
  const Keys queries = {55, 59, 63, 66, 70};
  double constant = 0;
  std::vector<Vector> expected(3, Vector(found.keys.size()));
  for (const Index query : queries) {
    const Keys keys = visible(drawn, query, length);
    const Vector full = drawn.output(*normalizer, query, keys);
    Keys top = keys;
    std::ranges::stable_sort(top, std::ranges::greater(),
                             [&](Index key) { return drawn.logit(query, key); });
    for (std::size_t p = 0; p < found.keys.size(); ++p) {
      const auto k = static_cast<std::size_t>(found.keys[p]);
      if (k >= keys.size()) continue;
      const auto error = [&](Keys order) {
        order.resize(k);
        return relative(drawn.output(*normalizer, query, order), full) / 5;
      };
      for (const Keys& permutation : permutations) {
        Keys order;
        std::ranges::copy_if(permutation, std::back_inserter(order),
                             [&](Index key) { return std::ranges::find(keys, key) != keys.end(); });
        expected[0][p] += error(order) / 3;
      }
      expected[1][p] += error(by_recency(keys, query));
      expected[2][p] += error(top);
    }
    Vector logits, weights(keys.size());
    for (const Index key : keys) logits.push_back(drawn.logit(query, key));
    normalizer->weigh(logits, {std::ssize(keys), query}, weights);
    for (std::size_t j = 0; j < keys.size(); ++j) {
      for (std::size_t c = 0; c < full.size(); ++c) {
        const double v = drawn.values(keys[j], static_cast<Index>(c)) - full[c];
        double size = 0;
        for (const double o : full) size += o * o;
        constant += double(keys.size()) * weights[j] * weights[j] * v * v / size / 5;
      }
    }
  }
  ASSERT_EQ(found.error.size(), 3u);
  for (std::size_t s = 0; s < 3; ++s) {
    for (std::size_t p = 0; p < found.keys.size(); ++p) {
      EXPECT_NEAR(found.error[s][p], expected[s][p], 1e-5) << kSamplerNames[s] << " " << p;
    }
  }
  if (normalizer->traits().pointwise) {
    EXPECT_NEAR(found.error_constant, constant, 1e-5 * constant);
  } else {
    EXPECT_TRUE(std::isnan(found.error_constant));
  }
}

INSTANTIATE_TEST_SUITE_P(Normalizers, BudgetOf,
                         ::testing::Values(BudgetCase{"softmax", Visibility::causal()},
                                           BudgetCase{"softmax", Visibility::full()},
                                           BudgetCase{"softmax", Visibility::sliding_window(30)},
                                           BudgetCase{"softcap:c=2", Visibility::full()},
                                           BudgetCase{"sparsemax", Visibility::causal()},
                                           BudgetCase{"ssmax", Visibility::causal()}));

// The bridge (docs/mathematics.md 5): n E||o_n - o||^2 / ||o||^2 tends to the constant.
TEST(Budget, ErrorConstantIsThatOfDrawsWithReplacement) {
  const Index length = 64;
  DrawnHead drawn(length, 4, 1, Visibility::full());
  const auto normalizer = make_normalizer("softmax");
  ThreadPool pool(1);
  const BudgetOptions options{.draws = 1, .queries = 1};
  const double constant =
      budget_curves(drawn.head, *normalizer, length, options, pool).error_constant;
  const Index query = 56;  // the middle of the last quarter
  const Vector full = drawn.output(*normalizer, query, visible(drawn, query, length));
  std::mt19937_64 generator(5);
  const int n = 4000, repeats = 400;
  double sum = 0, squares = 0;
  for (int r = 0; r < repeats; ++r) {
    Keys keys;
    for (int i = 0; i < n; ++i) keys.push_back(static_cast<Index>(generator() % 64));
    const double e = std::pow(relative(drawn.output(*normalizer, query, keys), full), 2) * n;
    sum += e / repeats;
    squares += e * e / repeats;
  }
  const double standard_error = std::sqrt((squares - sum * sum) / repeats);
  EXPECT_NEAR(constant, sum, 4 * standard_error);
}

TEST(Budget, PointsAreGeometric) {
  EXPECT_EQ(budget_points(1024), (Keys{8, 12, 19, 30, 47, 73, 113, 175, 273, 424, 659, 1024}));
  EXPECT_EQ(budget_points(8), Keys{8});
  EXPECT_EQ(budget_points(4), Keys{4});
}

TEST(Budget, IsInterpolatedInTheLogarithmAndRoundedUp) {
  const Keys keys = {8, 16, 32, 64};
  const Vector error = {0.4, 0.2, 0.1, 0.0};
  EXPECT_EQ(keys_for_error(keys, error, 0.5), 8);
  EXPECT_EQ(keys_for_error(keys, error, 0.2), 16);
  // Half way in the error: sqrt(16 32) = 22.6.
  EXPECT_EQ(keys_for_error(keys, error, 0.15), 23);
  EXPECT_EQ(keys_for_error(keys, error, 0.0), 64);
  // From where it is small enough for good: 32 * 2^(2/3) = 50.8.
  EXPECT_EQ(keys_for_error(keys, Vector{0.4, 0.1, 0.3, 0.0}, 0.1), 51);
  EXPECT_EQ(keys_for_error(keys, Vector{0.4, 0.1, 0.3, 0.0}, 0.3), 11);  // 8 * 2^(1/3)
  EXPECT_TRUE(std::isnan(keys_for_error(keys, Vector{0.4, 0.1, 0.3, 0.2}, 0.1)));
  EXPECT_TRUE(std::isnan(keys_for_error(keys, {}, 0.1)));
}

// A head cannot need more keys than its window has.
TEST(Budget, OfAWindowIsAtMostTheWindow) {
  ThreadPool pool(1);
  for (const Index window : {5, 30}) {
    DrawnHead drawn(72, 4, 0.1, Visibility::sliding_window(window));
    const BudgetCurves found = budget_curves(drawn.head, *make_normalizer("softmax"), 72, {}, pool);
    for (const Vector& error : found.error) {
      EXPECT_EQ(keys_for_error(found.keys, error, 1e-9), static_cast<double>(window));
    }
  }
}

TEST(Budget, HasNothingToSayOfOutputsThatAreZero) {
  DrawnHead drawn(64, 4, 1, Visibility::causal());
  drawn.values = Matrix<float>(64, 4);
  drawn.head.values = drawn.values.view();
  ThreadPool pool(1);
  EXPECT_TRUE(budget_curves(drawn.head, *make_normalizer("softmax"), 64, {}, pool).error.empty());
}

}  // namespace
}  // namespace headgauge
