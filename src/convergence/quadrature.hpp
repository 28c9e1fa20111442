// Gauss quadrature from the eigenvalues of the three-term recurrence (Golub and Welsch 1969).
#pragma once

#include <vector>

namespace headgauge {

struct Quadrature {
  std::vector<double> nodes;
  std::vector<double> weights;  // sum to 1
};

// Returns the rule for a variable with the distribution Beta(a, b) on [0, 1].
Quadrature beta_quadrature(int nodes, double a, double b);

// Returns the trapezoidal rule for E f(s xi), xi standard normal, where f grows at most like exp(2
// t). For smooth f it is exact to 1e-12.
Quadrature normal_quadrature(int nodes, double scale);

}  // namespace headgauge
