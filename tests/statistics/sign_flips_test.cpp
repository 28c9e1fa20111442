#include "statistics/nonparametric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

Matrix<double> columns(std::initializer_list<std::vector<double>> tests) {
  Matrix<double> values(std::ssize(*tests.begin()), std::ssize(tests));
  Index test = 0;
  for (const auto& column : tests) {
    for (Index unit = 0; unit < std::ssize(column); ++unit) values(unit, test) = column[unit];
    ++test;
  }
  return values;
}

TEST(SignFlips, IsTheShareOfAllSigns) {
  // Of the 2^6 signs of 1, 2, 3, 4, 5, 6 those whose sum is at least 15 (all but the minus signs of
  // {}, {1}, {2}, {3}, {1, 2}) are 5.
  const SignFlipOptions options{.flips = 100000};
  const std::vector<double> found =
      sign_flip_tests(columns({{1, 2, -3, 4, 5, 6}}), 0, Tail::above, options);
  EXPECT_NEAR(found[0], 5.0 / 64, 3 * std::sqrt(5.0 / 64 / 100000));
  // The other side, and another null.
  EXPECT_EQ(found, sign_flip_tests(columns({{-1, -2, 3, -4, -5, -6}}), 0, Tail::below, options));
  EXPECT_EQ(found, sign_flip_tests(columns({{11, 12, 7, 14, 15, 16}}), 10, Tail::above, options));
}

// Flips whose sum of ranks is the same count, though it is added up in another order: of 2^10 signs
// of 1 to 10 those whose minus signs sum to 10 or less are 43.
TEST(SignFlips, EqualSumsCount) {
  const SignFlipOptions options{.flips = 20000};
  const double p =
      sign_flip_tests(columns({{1, 2, 3, 4, 5, 6, 7, 8, 9, -10}}), 0, Tail::above, options)[0];
  EXPECT_NEAR(p, 43.0 / 1024, 3 * std::sqrt(43.0 / 1024 / 20000));
}

TEST(SignFlips, AdjustsForAllColumns) {
  const std::vector<double> first{1, 2, -3, 4, 5, 6}, second{1, -2, 3, 4, -1, 2};
  const double alone = sign_flip_tests(columns({first}), 0, Tail::above)[0];
  const auto both = sign_flip_tests(columns({first, second}), 0, Tail::above);
  EXPECT_GT(both[0], alone);
  // A column that is there twice costs nothing.
  EXPECT_EQ(sign_flip_tests(columns({first, first}), 0, Tail::above)[1], alone);
}

TEST(SignFlips, LeavesOutWhatIsMissing) {
  const auto found = sign_flip_tests(
      columns({{1, 2, kUndefined, 4}, {kUndefined, kUndefined, kUndefined, 1}, {0, 0, 0, 0}}), 0,
      Tail::above);
  EXPECT_NEAR(found[0], 1.0 / 8, 0.03);
  EXPECT_TRUE(std::isnan(found[1]));
  EXPECT_EQ(found[2], 1.0);
  EXPECT_TRUE(std::isnan(sign_flip_tests(columns({{1}}), 0, Tail::above)[0]));
  EXPECT_TRUE(sign_flip_tests(Matrix<double>(4, 0), 0, Tail::above).empty());
  EXPECT_THROW(sign_flip_tests(columns({{1, 2}}), 0, Tail::both), UsageError);
}

// Units x tests whose columns move together: one shift for each unit, and noise that wanders.
Matrix<double> wandering(World& world, Index units, Index tests, double together) {
  Matrix<double> values(units, tests);
  for (Index unit = 0; unit < units; ++unit) {
    const std::vector<double> noise = world.normals(tests + 1);
    double walk = 0;
    for (Index test = 0; test < tests; ++test) {
      walk = 0.7 * walk + noise[test];
      values(unit, test) = together * noise[tests] + walk;
    }
  }
  return values;
}

// The smallest p of all columns is one test at its level, however they move together; conservative,
// as sums of ranks are whole numbers.
TEST(SignFlips, FindSomethingAsOftenAsTheySay) {
  const SignFlipOptions options{.flips = 500};
  for (const double together : {0.0, 3.0}) {
    expect_level(
        [&](World& world) {
          const auto p =
              sign_flip_tests(wandering(world, 20, 12, together), 0, Tail::above, options);
          return std::ranges::min(p);
        },
        Level::conservative);
  }
}

TEST(SignFlips, FindWhatIsThere) {
  const double share = share_of_worlds([](World& world) {
    Matrix<double> values = wandering(world, 20, 3, 0);
    for (Index unit = 0; unit < 20; ++unit) values(unit, 1) += 1.5;
    return sign_flip_tests(values, 0, Tail::above, {.flips = 200})[1] <= 0.05;
  });
  EXPECT_GT(share, 0.9);
}

}  // namespace
}  // namespace headgauge
