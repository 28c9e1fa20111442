// What attention over n tokens tends to as n grows: the map Gamma of a population
// (docs/mathematics.md D5.1), in closed form for softmax (O1, O4), by quadrature for any a_i =
// F(l_i) / sum F(l_j) (the bridge).
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
  // Of softmax; or of a normalizer with F, which must outlive the map. `reach` is the largest |z|
  // that apply() will be fast for.
  explicit LimitMap(const TokenLaw& law, const Normalizer* normalizer = nullptr, double reach = 0);

  // Gamma(x) for z = A x.
  void apply(std::span<const double> z, std::span<double> out) const;

  // The limit of n E||Gamma_n(x) - Gamma(x)||^2: Int F^2 |y - Gamma|^2 / (Int F)^2 (O2, the
  // bridge).
  double variance(std::span<const double> z) const;

 private:
  // F at the nodes of every component, to a common factor.
  struct Curve {
    Quadrature nodes;
    std::vector<double> values;  // component by component
  };
  Curve curve(std::span<const double> z, double length) const;
  void apply_normalizer(std::span<const double> z, std::span<double> out) const;
  void apply_softmax(std::span<const double> z, std::span<double> out) const;
  // The length of Gamma at |z| = length, of a population without direction.
  double radial(double length) const;

  const TokenLaw& law_;
  const Normalizer* normalizer_;
  std::unique_ptr<BesselRatioTable> bessel_;  // of a sphere under softmax
  Quadrature coordinate_;                     // of a point on the unit sphere, under a normalizer
  double step_ = 0;
  std::vector<double> radial_;  // at multiples of step_
};

}  // namespace headgauge
