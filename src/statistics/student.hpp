// Student's t tests (Student, Biometrika 6, 1908) and Welch's (Biometrika 34, 1947), whose two
// sides may have errors of different sizes.
//
// They take the means as normal. Those of 4 batches or more of many rows nearly are.
#pragma once

#include <span>

#include "statistics/inference.hpp"

namespace headgauge {

// P(T > t) of Student's t; of a normal variable at kKnownError.
double student_tail(double t, double degrees_of_freedom);
// The t that is exceeded with probability `level`.
double student_quantile(double level, double degrees_of_freedom);

struct TTest {
  double difference = kUndefined;  // from the null
  double standard_error = kUndefined;
  double statistic = kUndefined;  // difference / standard error
  double degrees_of_freedom = kUndefined;
  double p = kUndefined;
};

// Whether a mean is `null`. An error of 0 leaves nothing to chance: p is 0, or 1 where there is no
// difference.
TTest t_test(const MeanWithError& mean, double null = 0, Tail tail = Tail::both);
// Of a sample of independent values.
TTest t_test(std::span<const double> values, double null = 0, Tail tail = Tail::both);
// Of first[i] - second[i]; pairs are independent of each other.
TTest paired_t_test(std::span<const double> first, std::span<const double> second,
                    Tail tail = Tail::both);

// Whether two independent means are the same: first less second, with the degrees of freedom of
// Welch and Satterthwaite, (a^2 + b^2)^2 / (a^4/nu_a + b^4/nu_b) of the errors a and b. An
// approximation: of 4 and 4 values that vary alike it rejects 4.1 % at .05 and .7 % at .01, of 4
// and 16 of them 6.0 % and 1.8 %.
TTest welch_test(const MeanWithError& first, const MeanWithError& second, Tail tail = Tail::both);

// That of the errors of two independent means; kKnownError where both are 0.
double welch_degrees_of_freedom(double first_error, double first_freedom, double second_error,
                                double second_freedom);

// Welch's, but at most twice the smaller of the two. Among thousands of tests those far out decide,
// and there Welch's finds too much where the side of fewer values has the larger error: of 4 and 16
// that vary alike 9 times as many beyond p = .0001 as it says. These find no more than they say
// wherever the values vary alike, and 2.4 times as many where those of the 16 vary half as much.
double cautious_degrees_of_freedom(double first_error, double first_freedom, double second_error,
                                   double second_freedom);

// What holds the truth in all but `level` of the cases, half of it on each side.
Interval t_interval(const MeanWithError& mean, double level = 0.05);

}  // namespace headgauge
