// The mean resultant length of the von Mises-Fisher distribution, which determines attention over
// tokens uniform on a sphere (docs/mathematics.md O1).
#pragma once

#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// Returns A_d(r) = I_{d/2}(r) / I_{d/2-1}(r) for d >= 1, r >= 0, to 1e-14 relative.
double bessel_ratio(Index d, double r);

// Interpolates it to 1e-11 relative, for many r at one d.
class BesselRatioTable {
 public:
  explicit BesselRatioTable(Index d);
  double ratio(double r) const { return r * over_r(r); }
  // Returns A_d(r) / r, whose limit at 0 is 1/d.
  double over_r(double r) const;

 private:
  double d_;
  std::vector<double> values_;  // A_d(r) (r + d) / r, a function near 1, at nodes of t = r / (r +
                                // d)
};

// Returns log E exp(r t), the integral of A_d, where t is a coordinate of a point uniform on the
// unit sphere of R^d.
double log_sphere_transform(const BesselRatioTable& table, double r);

}  // namespace headgauge
