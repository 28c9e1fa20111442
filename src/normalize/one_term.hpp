// Computes norms of Jacobians diag(d) + u v^T in a few passes over the row (docs/mathematics.md
// 7a).
#pragma once

#include "headgauge/normalize.hpp"

namespace headgauge {

// J = diag(d) + u v^T. In a nearly one-hot row the two parts cancel in the entry (m, m) of the
// largest key, and the rest of J is small compared to them. The diagonal entries are therefore
// given too.
struct OneTerm {
  AlignedVector<double> diagonal, left, right;  // d, u, v
  AlignedVector<double> entry;                  // J_ii in full precision

  void resize(std::size_t n) {
    for (auto* part : {&diagonal, &left, &right, &entry}) part->resize(n);
  }
};

struct OneTermNorms {
  double frobenius = 0;
  double spectral = 0;
};
// Computes the Frobenius norm to the last digits and the spectral norm to 1e-7 relative. Norms
// below 1e-290 count as 0.
OneTermNorms norms_of(const OneTerm& j);
// Computes the Frobenius norm only.
double frobenius_of(const OneTerm& j);
// Computes the norms, with `lipschitz` as the bound if it is finite.
Normalizer::JacobianNorms one_term_norms(const OneTerm& j, double lipschitz);

// Computes 1 - a for a weight of a row that sums to 1, also precise in a nearly one-hot row.
inline double rest_of(double a, const WeightSums& sums) {
  return a < 0.5 || sums.max_count != 1 ? 1 - a : sums.rest_mass;
}

}  // namespace headgauge
