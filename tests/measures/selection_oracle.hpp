// The metrics of one row in float64, straight from their definitions in docs/mathematics.md
// sections 2, 3 and 7a: explicit vectors, no Gram matrix, nothing shared with the library.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace oracle {

using Vector = std::vector<double>;

inline Vector operator+(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}
inline Vector operator*(double c, Vector a) {
  for (double& v : a) v *= c;
  return a;
}
inline Vector operator-(const Vector& a, const Vector& b) {
  return a + -1.0 * b;
}
inline double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
inline double norm(const Vector& a) {
  return std::sqrt(dot(a, a));
}

inline Vector softmax(const std::vector<float>& logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  Vector a;
  double sum = 0;
  for (const float l : logits) {
    a.push_back(std::exp(static_cast<double>(l) - max));
    sum += a.back();
  }
  for (double& v : a) v /= sum;
  return a;
}

// Indices by falling logit, ties by lower index.
inline std::vector<std::size_t> ranked(const std::vector<float>& logits) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return logits[i] > logits[j]; });
  return order;
}

inline std::vector<Vector> on_sphere(const std::vector<Vector>& x) {
  std::vector<Vector> out;
  for (const Vector& v : x) out.push_back(norm(v) > 0 ? 1.0 / norm(v) * v : v);
  return out;
}

// The smallest distance between two of the vectors.
inline double closest(const std::vector<Vector>& x) {
  double delta = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      double square = 0;
      for (std::size_t d = 0; d < x[i].size(); ++d) {
        square += (x[i][d] - x[j][d]) * (x[i][d] - x[j][d]);
      }
      delta = std::min(delta, std::sqrt(square));
    }
  }
  return delta;
}

struct Row {
  Vector a;                        // weights of the visible keys
  std::vector<std::size_t> order;  // by falling logit
  std::vector<Vector> x;           // their vectors
  bool unit_sphere = true;         // what separability is measured on
  std::vector<Vector> points;      // the vectors as separability sees them
  double delta = 0;                // their smallest distance

  Row(const std::vector<float>& logits, std::vector<Vector> vectors, bool sphere = true)
      : a(softmax(logits)),
        order(ranked(logits)),
        x(std::move(vectors)),
        unit_sphere(sphere),
        points(sphere ? on_sphere(x) : x),
        delta(closest(points)) {}
};

struct Separation {
  std::vector<bool> apart;  // by rank
  double r = 0;
};

inline Vector sum_of(const Row& row, const std::vector<Vector>& x, std::size_t n) {
  Vector s(x[0].size(), 0.0);
  for (std::size_t k = 0; k < n; ++k) s = s + row.a[row.order[k]] * x[row.order[k]];
  return s;
}

// 113 bits: weights of a sharp row differ by more than a double can hold.
#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 Quad;
#else
using Quad = long double;
#endif

// D3.2, D3.3 for the vectors given.
inline Separation separate(const Row& row, const std::vector<Vector>& x, std::size_t n) {
  using Wide = std::vector<Quad>;
  const auto add = [](Wide& to, double c, const Vector& v) {
    for (std::size_t d = 0; d < to.size(); ++d) to[d] += static_cast<Quad>(c) * v[d];
  };
  const auto square = [](const Wide& v) {
    Quad sum = 0;
    for (const Quad c : v) sum += c * c;
    return sum;
  };
  Wide s(x[0].size(), 0);
  for (std::size_t k = 0; k < n; ++k) add(s, row.a[row.order[k]], x[row.order[k]]);
  Quad r2 = 1e300;
  for (std::size_t k = n; k < row.order.size(); ++k) {
    Wide gap = s;
    add(gap, -row.a[row.order[k]], x[row.order[k]]);
    r2 = std::min(r2, square(gap));
  }
  Separation out;
  out.r = std::sqrt(static_cast<double>(r2));
  for (std::size_t k = 0; k < n; ++k) {
    Wide others = s;
    add(others, -row.a[row.order[k]], x[row.order[k]]);
    const Quad own2 = square(others);
    // Equal terms that were added in another order differ by a few of the last bits.
    out.apart.push_back(r2 - own2 > static_cast<Quad>(1e-30) * (r2 + own2));
  }
  return out;
}

inline double context_distance(const Row& row, std::size_t n) {
  const auto L = static_cast<double>(row.a.size());
  const double k = static_cast<double>(n) / (L - 1), p = (L - static_cast<double>(n)) / L;
  Vector y(row.x[0].size(), 0.0);
  for (std::size_t i = 0; i < row.a.size(); ++i) y = y + row.a[i] * row.x[i];
  double sum = 0;
  for (std::size_t i = 0; i < row.a.size(); ++i) sum += norm((row.a[i] + k) * row.x[i] - y);
  return p * sum;
}

inline double distance(const Row& row, std::size_t n) {
  const Vector s = sum_of(row, row.x, n);
  double sum = 0;
  for (std::size_t k = n; k < row.order.size(); ++k) {
    const std::size_t i = row.order[k];
    sum += norm(row.a[i] * row.x[i] - s);
  }
  return sum;
}

// All of groups distance and separability but the nulls; n = N < row length.
inline std::map<std::string, double> measure(const Row& row, std::size_t n) {
  std::map<std::string, double> out;
  const std::size_t L = row.a.size();
  const auto count = static_cast<double>(n), keys = static_cast<double>(L);
  double abar = 0, d1 = 0, longest = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t j = row.order[k];
    abar += row.a[j];
    longest = std::max(longest, norm(row.x[j]));
    for (std::size_t o = n; o < L; ++o) d1 = std::max(d1, norm(row.x[row.order[o]] - row.x[j]));
  }
  double rest = 0, spread = 0, lengths = 0;
  for (std::size_t o = n; o < L; ++o) {
    const std::size_t i = row.order[o];
    rest += row.a[i];
    spread += std::abs(abar - row.a[i]);
    lengths += row.a[i] * norm(row.x[i]);
  }
  out["selected_mass"] = abar;
  out["distance"] = distance(row, n);
  const double a3 = rest * d1 + longest * spread;
  const double a4 = lengths + (keys - count) * norm(sum_of(row, row.x, n));
  out["distance_bound"] = std::min(a3, a4);
  out["distance_bound_paper"] = (1 - abar) * d1 + longest * (abar * (keys - count) - (1 - abar));
  out["margin"] = out["distance"] / (keys - count);

  const double k = count / (keys - 1), p = (keys - count) / keys;
  std::vector<Vector> y;
  Vector total(row.x[0].size(), 0.0);
  for (std::size_t i = 0; i < L; ++i) {
    y.push_back(row.a[i] * row.x[i]);
    total = total + y.back();
  }
  double main = 0, upper = 0;
  for (std::size_t i = 0; i < L; ++i) {
    const Vector m = (1 + k) * y[i] - k * total;
    double v = 0;
    if (L > 2) {
      const Vector mean = 1.0 / (keys - 1) * (total - y[i]);
      for (std::size_t j = 0; j < L; ++j) {
        if (j != i) v += dot(y[j] - mean, y[j] - mean);
      }
      v *= count * (keys - 1 - count) / ((keys - 1) * (keys - 2));
    }
    main += norm(m);
    upper += std::sqrt(dot(m, m) + v);
  }
  out["expected_distance"] = p * main;
  out["expected_distance_upper"] = p * upper;
  out["expected_distance_context"] = context_distance(row, n);

  const std::vector<Vector>& x = row.points;
  const Separation separation = separate(row, x, n);
  out["separability_with_sinks"] =
      static_cast<double>(std::count(separation.apart.begin(), separation.apart.end(), true)) /
      count;
  const double r = separation.r;
  const double delta = row.delta;
  double M = 0;
  for (const Vector& v : x) M = std::max(M, norm(v));
  if (row.unit_sphere) M = 1;
  const auto d = static_cast<double>(x[0].size());
  double lower = 0, model_lower = 0, model_upper = 0, lower_paper = 0, upper_paper = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double A = 0, B = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      A += row.a[row.order[j]];
      B += row.a[row.order[j]] * row.a[row.order[j]];
    }
    const double xi =
        n == 1 ? 0.0
               : std::sqrt(std::max(0.0, M * M * B + (M * M - delta * delta / 2) * (A * A - B)));
    const double v = M * std::sqrt(B), mu = v / std::sqrt(1 + 2 / d);
    lower += xi < r;
    if (v == 0) {
      model_lower += 1;
      model_upper += 1;
    } else {
      const double up = std::max(r - v, 0.0), down = std::max(mu - r, 0.0);
      model_lower += std::max({0.0, 1 - v * v / (r * r), 1 - std::exp(-up * up / (2 * v * v))});
      model_upper += std::exp(-down * down / (2 * v * v));
    }
    lower_paper += xi / r;
    upper_paper += std::exp(-(r - xi) * (r - xi) / (16 * M * M));
  }
  out["separability_lower"] = lower / count;
  out["separability_model_lower"] = model_lower / count;
  out["separability_model_upper"] = model_upper / count;
  out["separability_lower_paper"] = 1 - lower_paper / count;
  out["separability_upper_paper"] = upper_paper / count;
  return out;
}

}  // namespace oracle
