#include "statistics/student.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

using Values = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const Values kFirst{1.2, -.4, 2.5, .3, 1.9, .8, -1.1, .6};
const Values kSecond{.7, .1, 1.4, .9, .2, 1.3, -.6, .1};

TEST(Student, HasTheTailsOfScipy) {
  EXPECT_NEAR(student_tail(2.1, 3.7), 0.05463235254111237, 1e-14);         // stats.t.sf(2.1, 3.7)
  EXPECT_NEAR(student_tail(-1.3, 2), 0.8383764840919798, 1e-14);           // stats.t.sf(-1.3, 2)
  EXPECT_NEAR(student_tail(2, kKnownError), 0.022750131948179195, 1e-15);  // stats.norm.sf(2)
  EXPECT_NEAR(student_quantile(.025, 3.7), 2.8675207071911903, 1e-12);     // stats.t.isf(.025, 3.7)
  EXPECT_NEAR(student_quantile(.025, kKnownError), 1.9599639845400545, 1e-14);
  EXPECT_EQ(student_tail(kInfinity, 4), 0);
  EXPECT_EQ(student_tail(-kInfinity, 4), 1);
  EXPECT_TRUE(std::isnan(student_tail(1, kUndefined)));
  EXPECT_TRUE(std::isnan(student_quantile(.05, 0)));
}

TEST(Student, OfASampleIsThatOfScipy) {
  const TTest test = t_test(kFirst, .1);  // stats.ttest_1samp(x, .1)
  EXPECT_NEAR(test.statistic, 1.513068831672006, 1e-13);
  EXPECT_NEAR(test.p, 0.17402612542802454, 1e-13);
  EXPECT_EQ(test.degrees_of_freedom, 7);
  EXPECT_NEAR(t_test(kFirst, .1, Tail::above).p, 0.08701306271401227, 1e-13);
  EXPECT_NEAR(t_test(kFirst, .1, Tail::below).p, 0.9129869372859878, 1e-13);
  // .confidence_interval(.9)
  const Interval interval = t_interval(mean_with_error(kFirst), .1);
  EXPECT_NEAR(interval.low, -0.05758939936840812, 1e-13);
  EXPECT_NEAR(interval.high, 1.507589399368408, 1e-13);
}

TEST(Student, OfPairsIsThatOfScipyAndLeavesOutWhatIsMissing) {
  const TTest test = paired_t_test(kFirst, kSecond);  // stats.ttest_rel(x, y)
  EXPECT_NEAR(test.statistic, 0.687585640207655, 1e-13);
  EXPECT_NEAR(test.p, 0.5138437217926201, 1e-13);
  Values first = kFirst, second = kSecond;
  first.insert(first.begin() + 3, kUndefined);
  second.insert(second.begin() + 3, 99);
  first.push_back(-5);
  second.push_back(kInfinity);
  EXPECT_EQ(paired_t_test(first, second).p, test.p);
}

TEST(Student, OfWelchIsThatOfScipy) {
  const Values other{2.2, 3.1, 1.8, 2.9, 4.4};
  // stats.ttest_ind(x, z, equal_var=False)
  const TTest test = welch_test(mean_with_error(kFirst), mean_with_error(other));
  EXPECT_NEAR(test.statistic, -3.5426784933678532, 1e-13);
  EXPECT_NEAR(test.p, 0.0055807243402191875, 1e-14);
  EXPECT_NEAR(test.degrees_of_freedom, 9.711169469946142, 1e-12);
  EXPECT_NEAR(welch_test(mean_with_error(kFirst), mean_with_error(other), Tail::below).p,
              0.0055807243402191875 / 2, 1e-14);
}

TEST(Student, OfWelchKnowsErrorsThatAreNothingOrKnown) {
  EXPECT_EQ(welch_degrees_of_freedom(0, 3, 2, 5), 5);
  EXPECT_EQ(welch_degrees_of_freedom(0, 3, 0, 5), kKnownError);
  EXPECT_EQ(welch_degrees_of_freedom(1, 3, 1, 3), 6);
  EXPECT_EQ(welch_degrees_of_freedom(1, kKnownError, 1, 3), 12);
  EXPECT_NEAR(welch_degrees_of_freedom(1e-120, 3, 1e-120, 3), 6, 1e-12);
  const TTest certain = welch_test({1, 0, 3}, {2, 0, 3});
  EXPECT_EQ(certain.p, 0);
  EXPECT_EQ(certain.statistic, -kInfinity);
  EXPECT_EQ(welch_test({1, 0, 3}, {2, 0, 3}, Tail::above).p, 1);
  EXPECT_EQ(welch_test({1, 0, 3}, {2, 0, 3}, Tail::below).p, 0);
  EXPECT_EQ(welch_test({2, 0, 3}, {2, 0, 3}).p, 1);
}

TEST(Student, IsUndefinedOfTooLittle) {
  EXPECT_TRUE(std::isnan(t_test(Values{}).p));
  EXPECT_TRUE(std::isnan(t_test(Values{1, kUndefined}).p));
  EXPECT_TRUE(std::isnan(welch_test({1, kUndefined, 3}, {1, 1, 3}).p));
  EXPECT_TRUE(std::isnan(welch_test({1, 1, kUndefined}, {1, 1, 3}).p));
  EXPECT_TRUE(std::isnan(t_interval({}).low));
  EXPECT_THROW(paired_t_test(kFirst, Values{1}), UsageError);
  EXPECT_THROW(t_interval({1, 1, 3}, 0), UsageError);
  EXPECT_THROW(student_quantile(1, 3), UsageError);
}

TEST(StudentCalibration, RejectsAtItsLevel) {
  for (const Tail tail : {Tail::both, Tail::above, Tail::below}) {
    expect_level([=](World& w) { return t_test(w.normals(4, 2, 3), 2, tail).p; });
  }
  expect_level([](World& w) { return paired_t_test(w.normals(9), w.normals(9)).p; });
}

double p_of_batches(World& w, Index first, Index second, double deviation) {
  return welch_test(mean_with_error(w.normals(first)),
                    mean_with_error(w.normals(second, 0, deviation)))
      .p;
}

// Batches of two runs whose errors may differ.
TEST(StudentCalibration, OfWelchRejectsAtItsLevel) {
  expect_level([](World& w) { return p_of_batches(w, 8, 8, 1); });
  expect_level([](World& w) { return p_of_batches(w, 8, 8, 5); });
  expect_level([](World& w) { return p_of_batches(w, 16, 16, 1.5); });
  expect_level([](World& w) { return p_of_batches(w, 4, 16, 2); });
  expect_level([](World& w) { return p_of_batches(w, 4, 4, 1); }, Level::conservative);
}

// The limits that its header states, from two million worlds.
TEST(StudentCalibration, OfWelchIsAnApproximation) {
  for (const auto& [second, level, true_level] :
       {std::tuple{4, .05, .041}, {4, .01, .0068}, {16, .05, .0598}, {16, .01, .0178}}) {
    const double share =
        share_of_worlds([&](World& w) { return p_of_batches(w, 4, second, 1) <= level; });
    EXPECT_NEAR(share, true_level, three_errors(true_level)) << second;
  }
}

TEST(StudentCalibration, IntervalsHoldTheTruth) {
  for (const double level : {0.05, 0.2}) {
    const double missed = share_of_worlds([&](World& w) {
      const Interval found = t_interval(mean_with_error(w.normals(5, 7, 2)), level);
      return found.low > 7 || found.high < 7;
    });
    EXPECT_NEAR(missed, level, three_errors(level));
  }
}

TEST(StudentCalibration, FindsWhatIsThere) {
  // Power of the two-sided test of 10 values that differ by one deviation: 80.3 % (G*Power's, by
  // the noncentral t of 9 degrees of freedom at sqrt(10)).
  const double found = share_of_worlds([](World& w) { return t_test(w.normals(10, 1)).p < .05; });
  EXPECT_NEAR(found, 0.803, three_errors(0.803));
}

}  // namespace
}  // namespace headgauge
