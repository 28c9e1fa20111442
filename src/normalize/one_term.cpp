#include "normalize/one_term.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/secular.hpp"

namespace headgauge {
namespace {

double square(double x) {
  return x * x;
}

// J divided by `unit`, with the key m of the largest |d| kept apart from the other keys.
struct SplitRow {
  double unit = 0;
  double d = 0, u = 0, v = 0, entry = 0;     // for key m: undivided d, u, v; J_mm / unit
  SecularRow others;                         // for the other keys, 0 for m: d, u, v / unit
  double next = 0;                           // the largest d^2 of the other keys
  double left_square = 0, right_square = 0;  // |u|^2 and |v|^2 of the other keys
  double frobenius = 0;                      // |J|_F^2
  double lower = 0;                          // the largest |J e_j|^2 and |J^T e_m|^2
};

std::size_t largest(const AlignedVector<double>& values) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (std::abs(values[i]) > std::abs(values[at])) at = i;
  }
  return at;
}

// Computes |J|_F^2 by columns. |u|^2 - u_q^2 of the largest u loses digits, but they do not matter:
// |d_m| >= |d_q|, so where d_q + u_q v_q cancels, either J_mm or u_m v_q and u_q v_m are as large
// as u_q v_q.
void add_columns(const OneTerm& j, std::size_t m, SplitRow& row) {
  const std::size_t n = j.entry.size();
  const auto& left = row.others.left;
  const auto& right = row.others.right;
  for (std::size_t i = 0; i < n; ++i) {
    row.left_square += left[i];
    row.right_square += right[i];
  }
  const double of_m = square(row.u), scale = square(row.unit), inverse = 1 / row.unit;
  for (std::size_t i = 0; i < n; ++i) {
    const double others = of_m + scale * (row.left_square - left[i]);
    const double column = i == m ? square(row.entry) + square(row.v) * row.left_square
                                 : square(j.entry[i] * inverse) + right[i] * others;
    row.frobenius += column;
    row.lower = std::max(row.lower, column);
  }
  row.lower = std::max(row.lower, square(row.entry) + of_m * row.right_square);
}

void split(const OneTerm& j, SplitRow& row) {
  const std::size_t n = j.diagonal.size();
  const auto keys = static_cast<std::size_t>(kSecularKeys);
  const std::size_t m = largest(j.diagonal);
  double diagonal = 0, left = 0, right = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == m) continue;
    diagonal = std::max(diagonal, std::abs(j.diagonal[i]));
    left = std::max(left, std::abs(j.left[i]));
    right = std::max(right, std::abs(j.right[i]));
  }
  row.d = j.diagonal[m];
  row.u = j.left[m];
  row.v = j.right[m];
  row.unit = std::max({diagonal, std::abs(j.entry[m]), std::abs(row.u) * right,
                       std::abs(row.v) * left, left * right});
  row.next = row.left_square = row.right_square = row.frobenius = row.lower = 0;
  if (!(row.unit > 1e-290)) {
    row.unit = 0;
    return;
  }
  const double inverse = 1 / row.unit;
  row.entry = j.entry[m] * inverse;
  row.next = square(diagonal * inverse);
  for (auto* part : {&row.others.square, &row.others.left, &row.others.right, &row.others.cross}) {
    part->assign((n + keys - 1) / keys * keys, 0.0);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double d = j.diagonal[i] * inverse, u = j.left[i] * inverse, v = j.right[i] * inverse;
    row.others.square[i] = d * d;
    row.others.left[i] = u * u;
    row.others.right[i] = v * v;
    row.others.cross[i] = d * u * v;
  }
  for (auto* part : {&row.others.square, &row.others.left, &row.others.right, &row.others.cross}) {
    (*part)[m] = 0;
  }
  add_columns(j, m, row);
}

// whole() and apart() are above 0 if J^T J has an eigenvalue above lam, for lam above the largest
// d^2 (whole) and above the second largest (apart).
//
// With t = 1/(lam - d^2), A = sum u^2 t, B = sum v^2 t, C = 1 - sum d u v t over all keys, the
// number of these eigenvalues is #{d^2 > lam} - 1 plus the number of positive eigenvalues of
//   [lam A, -C; -C, B].
double whole(const SplitRow& row, double lam) {
  const double d = row.d / row.unit, u = row.u / row.unit, v = row.v / row.unit, pole = d * d;
  const SecularSums sums = secular_sums(row.others, lam);
  const double t = 1 / (lam - pole);
  const double a = sums.left + u * u * t, b = sums.right + v * v * t;
  const double c = 1 - row.unit * (sums.cross + d * u * v * t);
  return (square(row.unit) * lam * a * b - c * c) * (lam - pole) / lam;
}

// Computes the determinant times (lam - d_m^2) / lam; the cancelling parts of key m appear as J_mm.
double apart(const SplitRow& row, double lam) {
  const auto [a, b, e] = secular_sums(row.others, lam);
  const double gap = square(row.unit) * lam - square(row.d);
  double value = gap * a * b + square(row.u) * b + square(row.v) * a - square(1 - row.unit * e) +
                 square(row.entry - row.d * e) / lam;
  // The determinant is also below 0 if both eigenvalues are above lam; a positive value avoids a
  // false root.
  if (value < 0 && gap < 0 && -gap * a > square(row.u)) value = 1;
  return value * (lam - row.next) / lam;
}

// Finds the point between `low` and `high` up to which f is above 0, by Chandrupatla's method;
// nothing if f is not above 0 at `low`.
template <class Function>
std::optional<double> last_positive(const Function& f, double low, double high) {
  if (!(low < high)) return std::nullopt;
  double x1 = high, x2 = low, f2 = f(low);
  if (!(f2 > 0)) return std::nullopt;
  double f1 = f(high);
  if (f1 >= 0) return high;
  double t = 0.5;
  for (int i = 0; i < 100; ++i) {
    const double x = x1 + t * (x2 - x1), value = f(x);
    double x3 = x1, f3 = f1;
    if ((value > 0) != (f1 > 0)) {
      x3 = std::exchange(x2, x1);
      f3 = std::exchange(f2, f1);
    }
    x1 = x;
    f1 = value;
    const double tolerance = 1e-11 * x1 / std::abs(x2 - x1);
    if (tolerance > 0.5 || value == 0) break;
    const double xi = (x1 - x2) / (x3 - x2), phi = (f1 - f2) / (f3 - f2);
    t = 0.5;
    if (phi * phi < xi && square(1 - phi) < 1 - xi) {
      t = f1 / (f2 - f1) * f3 / (f2 - f3) + (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2);
    }
    t = std::clamp(t, tolerance, 1 - tolerance);
  }
  return x1;
}

// Computes |J|_2^2. It is at least the second largest d^2, because a rank-1 term moves each
// singular value past at most one d.
double largest_square(const SplitRow& row) {
  // The functions lose their digits this close to a pole, so the pole is taken as the root.
  constexpr double kNear = 1 + 1e-8;
  const double pole = square(row.d / row.unit);
  double low = std::max(row.next, row.lower), high = row.frobenius * (1 + 1e-14);
  if (4 * row.next >= pole) {
    // Nothing cancels in this case.
    const auto found = last_positive([&](double lam) { return whole(row, lam); },
                                     std::max(low, pole) * kNear, high);
    if (found) return *found;
    if (low >= pole) return low;
    high = std::min(high, pole);
  }
  const auto found = last_positive([&](double lam) { return apart(row, lam); }, low * kNear, high);
  return found.value_or(std::min(low, high));
}

SplitRow& split_row(const OneTerm& j) {
  thread_local SplitRow row;
  split(j, row);
  return row;
}

}  // namespace

double frobenius_of(const OneTerm& j) {
  if (j.entry.empty()) return 0;
  const SplitRow& row = split_row(j);
  return row.unit * std::sqrt(row.frobenius);
}

Normalizer::JacobianNorms one_term_norms(const OneTerm& j, double lipschitz) {
  const auto [frobenius, spectral] = norms_of(j);
  Normalizer::JacobianNorms norms;
  norms.frobenius = frobenius;
  norms.spectral = spectral;
  if (std::isfinite(lipschitz)) norms.bound = lipschitz;
  return norms;
}

OneTermNorms norms_of(const OneTerm& j) {
  if (j.entry.empty()) return {};
  const SplitRow& row = split_row(j);
  if (row.unit == 0) return {};
  return {row.unit * std::sqrt(row.frobenius), row.unit * std::sqrt(largest_square(row))};
}

}  // namespace headgauge
