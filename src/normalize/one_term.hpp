// The norms of Jacobians diag(d) + u v^T in a few passes over the row (docs/mathematics.md 7a).
#pragma once

#include "headgauge/normalize.hpp"

namespace headgauge {

// J = diag(d) + u v^T. In a nearly one-hot row the two parts cancel in the entry (m, m) of the
// largest key, and all that is left of J is small beside them: the diagonal entries are given as
// well.
struct OneTerm {
  AlignedVector<double> diagonal, left, right;  // d, u, v
  AlignedVector<double> entry;                  // J_ii with all its digits

  void resize(std::size_t n) {
    for (auto* part : {&diagonal, &left, &right, &entry}) part->resize(n);
  }
};

struct OneTermNorms {
  double frobenius = 0;
  double spectral = 0;
};
// The Frobenius norm to the last digits, the spectral norm to 1e-7 of it. Norms below 1e-290 count
// as 0.
OneTermNorms norms_of(const OneTerm& j);
// The Frobenius norm alone.
double frobenius_of(const OneTerm& j);
// The norms, with `lipschitz` as the bound where it is finite.
Normalizer::JacobianNorms one_term_norms(const OneTerm& j, double lipschitz);

// 1 - a for a weight of a row that sums to 1, with its digits where the row is nearly one-hot.
inline double rest_of(double a, const WeightSums& sums) {
  return a < 0.5 || sums.max_count != 1 ? 1 - a : sums.rest_mass;
}

}  // namespace headgauge
