#include "statistics/student.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace headgauge {
namespace {

double p_of(double t, double freedom, Tail tail) {
  if (tail == Tail::above) return student_tail(t, freedom);
  if (tail == Tail::below) return student_tail(-t, freedom);
  return 2 * student_tail(std::abs(t), freedom);
}

// Returns the p-value when the standard error is 0.
double certain_p(double difference, Tail tail) {
  if (difference == 0) return 1;
  const bool above = difference > 0;
  return tail == Tail::both || above == (tail == Tail::above) ? 0 : 1;
}

}  // namespace

double student_tail(double t, double degrees_of_freedom) {
  if (std::isnan(t) || !(degrees_of_freedom > 0)) return kUndefined;
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  if (std::isinf(degrees_of_freedom)) return cdf(complement(boost::math::normal(), t));
  return cdf(complement(boost::math::students_t(degrees_of_freedom), t));
}

double student_quantile(double level, double degrees_of_freedom) {
  check_level("the level of a quantile", level);
  if (!(degrees_of_freedom > 0)) return kUndefined;
  if (std::isinf(degrees_of_freedom)) return quantile(complement(boost::math::normal(), level));
  return quantile(complement(boost::math::students_t(degrees_of_freedom), level));
}

TTest t_test(const MeanWithError& mean, double null, Tail tail) {
  TTest test;
  test.difference = mean.value - null;
  test.standard_error = mean.standard_error;
  test.degrees_of_freedom = mean.degrees_of_freedom;
  if (std::isnan(test.difference) || !(test.standard_error >= 0)) return test;
  if (test.standard_error == 0) {
    const double infinite = std::numeric_limits<double>::infinity();
    test.statistic = test.difference == 0 ? 0 : std::copysign(infinite, test.difference);
    test.p = certain_p(test.difference, tail);
  } else {
    test.statistic = test.difference / test.standard_error;
    test.p = p_of(test.statistic, test.degrees_of_freedom, tail);
  }
  return test;
}

TTest t_test(std::span<const double> values, double null, Tail tail) {
  return t_test(mean_with_error(values), null, tail);
}

TTest paired_t_test(std::span<const double> first, std::span<const double> second, Tail tail) {
  return t_test(paired_differences(first, second), 0, tail);
}

double welch_degrees_of_freedom(double first_error, double first_freedom, double second_error,
                                double second_freedom) {
  const double a = first_error * first_error, b = second_error * second_error;
  if (a == 0 && b == 0) return kKnownError;
  // Uses shares, so that no fourth power of a small error underflows.
  const double share = a / (a + b), other = b / (a + b);
  const double inverse = (share == 0 ? 0 : share * share / first_freedom) +
                         (other == 0 ? 0 : other * other / second_freedom);
  return 1 / inverse;
}

double cautious_degrees_of_freedom(double first_error, double first_freedom, double second_error,
                                   double second_freedom) {
  const double freedom =
      welch_degrees_of_freedom(first_error, first_freedom, second_error, second_freedom);
  // An error of 0 does not show how many values it comes from.
  if (first_error == 0 || second_error == 0) return freedom;
  return std::min(freedom, 2 * std::min(first_freedom, second_freedom));
}

TTest welch_test(const MeanWithError& first, const MeanWithError& second, Tail tail) {
  return t_test(
      {first.value - second.value, std::hypot(first.standard_error, second.standard_error),
       welch_degrees_of_freedom(first.standard_error, first.degrees_of_freedom,
                                second.standard_error, second.degrees_of_freedom)},
      0, tail);
}

Interval t_interval(const MeanWithError& mean, double level) {
  check_level("the level of an interval", level);
  if (std::isnan(mean.value) || !(mean.standard_error >= 0)) return {};
  if (mean.standard_error == 0) return {mean.value, mean.value};
  const double reach = student_quantile(level / 2, mean.degrees_of_freedom) * mean.standard_error;
  return {mean.value - reach, mean.value + reach};
}

}  // namespace headgauge
