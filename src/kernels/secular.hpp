// The sums of the secular equation of a Jacobian diag(d) + u v^T (normalize/one_term.hpp).
#pragma once

#include "headgauge/base.hpp"

namespace headgauge {

// d_i^2, u_i^2, v_i^2 and d_i u_i v_i of every key, padded with zeros to a multiple of
// kSecularKeys.
struct SecularRow {
  AlignedVector<double> square, left, right, cross;
};
inline constexpr Index kSecularKeys = 8;

// sum u^2/(lam - d^2), sum v^2/(lam - d^2) and sum d u v/(lam - d^2).
struct SecularSums {
  double left = 0;
  double right = 0;
  double cross = 0;
};
// lam must not be 0 and must differ from d^2 of every key.
SecularSums secular_sums(const SecularRow& row, double lam);

}  // namespace headgauge
