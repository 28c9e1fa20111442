// The limit of attention over n tokens as n grows: the map Gamma of a population
// (docs/mathematics.md D5.1), in closed form for softmax (O1), by quadrature for any a_i =
// F(l_i) / sum F(l_j) (section 5).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "convergence/token_law.hpp"
#include "headgauge/base.hpp"
#include "headgauge/normalize.hpp"

namespace headgauge {

// The mean resultant length of the von Mises-Fisher distribution, which determines attention over
// tokens uniform on a sphere (docs/mathematics.md O1).

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

// Gauss quadrature from the eigenvalues of the three-term recurrence (Golub and Welsch 1969).

struct Quadrature {
  std::vector<double> nodes;
  std::vector<double> weights;  // sum to 1
};

// Returns the rule for a variable with the distribution Beta(a, b) on [0, 1].
Quadrature beta_quadrature(int nodes, double a, double b);

// Returns the trapezoidal rule for E f(s xi), xi standard normal, where f grows at most like exp(2
// t). For smooth f it is exact to 1e-12.
Quadrature normal_quadrature(int nodes, double scale);

class LimitMap {
 public:
  // The map for softmax, or for a normalizer with F, which must outlive the map. `reach` is the
  // largest |z| for which apply() is fast.
  explicit LimitMap(const TokenLaw& law, const Normalizer* normalizer = nullptr, double reach = 0);

  // Computes Gamma(x) for z = A x.
  void apply(std::span<const double> z, std::span<double> out) const;

  // Returns the limit of n E||Gamma_n(x) - Gamma(x)||^2: Int F^2 |y - Gamma|^2 / (Int F)^2 (O2;
  // section 5 for other normalizers).
  double variance(std::span<const double> z) const;

 private:
  // F at the nodes, up to a common factor.
  struct Curve {
    Quadrature nodes;
    std::vector<double> values;
  };
  Curve curve(double length) const;
  void apply_normalizer(std::span<const double> z, std::span<double> out) const;
  void apply_softmax(std::span<const double> z, std::span<double> out) const;
  // Returns |Gamma| at |z| = length under a normalizer.
  double radial(double length) const;

  const TokenLaw& law_;
  const Normalizer* normalizer_;
  std::unique_ptr<BesselRatioTable> bessel_;  // for a sphere under softmax
  Quadrature coordinate_;  // coordinate of a point on the unit sphere, under a normalizer
  double step_ = 0;
  std::vector<double> radial_;  // at multiples of step_
};

}  // namespace headgauge
