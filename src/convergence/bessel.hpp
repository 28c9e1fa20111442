// The mean resultant length of the von Mises-Fisher law, which attention over tokens uniform on a
// sphere is made of (docs/mathematics.md O1).
#pragma once

#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// A_d(r) = I_{d/2}(r) / I_{d/2-1}(r) for d >= 1, r >= 0; to 1e-14 relative.
double bessel_ratio(Index d, double r);

// The same by interpolation, to 1e-11 relative, for many r at one d.
class BesselRatioTable {
 public:
  explicit BesselRatioTable(Index d);
  double ratio(double r) const { return r * over_r(r); }
  // A_d(r) / r, whose limit at 0 is 1/d.
  double over_r(double r) const;

 private:
  double d_;
  std::vector<double> values_;  // of A_d(r) (r + d) / r, a function near 1, over t = r / (r + d)
};

// log E exp(r t), t a coordinate of a point uniform on the unit sphere of R^d: the integral of A_d.
double log_sphere_transform(const BesselRatioTable& table, double r);

}  // namespace headgauge
