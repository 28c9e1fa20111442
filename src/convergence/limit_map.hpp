// The limit of attention over n tokens as n grows: the map Gamma of a population
// (docs/mathematics.md D5.1), in closed form for softmax (O1), by quadrature for any a_i =
// F(l_i) / sum F(l_j) (section 5).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "convergence/bessel.hpp"
#include "convergence/quadrature.hpp"
#include "convergence/token_law.hpp"
#include "headgauge/normalize.hpp"

namespace headgauge {

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
