// Student's t tests (Student, Biometrika 6, 1908) and Welch's test (Biometrika 34, 1947), which
// allows different errors on its two sides.
//
// They assume normal means, which nearly holds for 4 or more batches of many rows.
#pragma once

#include <span>

#include "statistics/inference.hpp"

namespace headgauge {

// Returns P(T > t) of Student's t; of a normal variable at kKnownError.
double student_tail(double t, double degrees_of_freedom);
// Returns the t that is exceeded with probability `level`.
double student_quantile(double level, double degrees_of_freedom);

struct TTest {
  double difference = kUndefined;  // from the null
  double standard_error = kUndefined;
  double statistic = kUndefined;  // difference / standard error
  double degrees_of_freedom = kUndefined;
  double p = kUndefined;
};

// Tests whether a mean equals `null`. With an error of 0, p is 0, or 1 if there is no difference.
TTest t_test(const MeanWithError& mean, double null = 0, Tail tail = Tail::both);
// Tests the mean of a sample of independent values.
TTest t_test(std::span<const double> values, double null = 0, Tail tail = Tail::both);
// Tests the mean of first[i] - second[i]; the pairs must be independent.
TTest paired_t_test(std::span<const double> first, std::span<const double> second,
                    Tail tail = Tail::both);

// Tests whether two independent means are equal: first minus second, with the degrees of freedom of
// Welch and Satterthwaite, (a^2 + b^2)^2 / (a^4/nu_a + b^4/nu_b) for the errors a and b. This is an
// approximation. For values of equal variance it rejects 4.1 % at .05 and .7 % at .01 with 4 and 4
// values, 6.0 % and 1.8 % with 4 and 16.
TTest welch_test(const MeanWithError& first, const MeanWithError& second, Tail tail = Tail::both);

// Returns the degrees of freedom of Welch and Satterthwaite for the errors of two independent
// means; kKnownError if both errors are 0.
double welch_degrees_of_freedom(double first_error, double first_freedom, double second_error,
                                double second_freedom);

// Returns Welch's degrees of freedom, but at most twice the smaller of the two. Among thousands of
// tests the tails decide, and there Welch's test finds too much if the side with fewer values has
// the larger error: with 4 and 16 values of equal variance, it finds 9 times the nominal number
// beyond p = .0001. With this limit a test finds no more than nominal for equal variances, and 2.4
// times the nominal number if the values of the side of 16 vary half as much.
double cautious_degrees_of_freedom(double first_error, double first_freedom, double second_error,
                                   double second_freedom);

// Returns an interval that contains the true mean with probability 1 - `level`; half of `level`
// lies on each side.
Interval t_interval(const MeanWithError& mean, double level = 0.05);

}  // namespace headgauge
