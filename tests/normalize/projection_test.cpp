// Sparsemax and entmax against other algorithms: by sorting, and by bisection.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headgauge/normalize.hpp"
#include "normalize/rows.hpp"

namespace headgauge {
namespace {

std::vector<double> by_sorting(std::vector<double> z) {
  const std::vector<double> logits = z;
  std::ranges::sort(z, std::greater<>());
  double sum = 0, tau = 0;
  for (std::size_t k = 1; k <= z.size(); ++k) {
    sum += z[k - 1];
    if (1 + static_cast<double>(k) * z[k - 1] > sum) tau = (sum - 1) / static_cast<double>(k);
  }
  std::vector<double> a;
  for (const double l : logits) a.push_back(std::max(l - tau, 0.0));
  return a;
}

// tau_k = mean - sqrt((1 - k var)/k) over the top k of l/2; the last k with tau_k <= z_(k).
std::vector<double> by_sorting_three_halves(std::vector<double> logits) {
  std::vector<double> z;
  for (const double l : logits) z.push_back(l / 2);
  std::ranges::sort(z, std::greater<>());
  const double top = z[0];
  double sum = 0, squares = 0, tau = 0;
  for (std::size_t k = 1; k <= z.size(); ++k) {
    const double x = z[k - 1] - top, count = static_cast<double>(k);
    sum += x;
    squares += x * x;
    const double mean = sum / count, variance = squares / count - mean * mean;
    const double inside = (1 - count * variance) / count;
    if (inside < 0) break;
    const double at = mean - std::sqrt(inside);
    if (at > x) break;
    tau = at;
  }
  std::vector<double> a;
  for (const double l : logits) {
    const double rest = std::max(l / 2 - top - tau, 0.0);
    a.push_back(rest * rest);
  }
  return a;
}

std::vector<double> by_bisection(const std::vector<double>& logits, double alpha) {
  const double top = (alpha - 1) * *std::ranges::max_element(logits);
  const auto sum_at = [&](double tau) {
    double sum = 0;
    for (const double l : logits) {
      sum += std::pow(std::max((alpha - 1) * l - tau, 0.0), 1 / (alpha - 1));
    }
    return sum;
  };
  double low = top - 1, high = top - std::pow(static_cast<double>(logits.size()), 1 - alpha);
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    (sum_at(middle) >= 1 ? low : high) = middle;
  }
  std::vector<double> a;
  for (const double l : logits) {
    a.push_back(std::pow(std::max((alpha - 1) * l - low, 0.0), 1 / (alpha - 1)));
  }
  const double sum = std::accumulate(a.begin(), a.end(), 0.0);
  for (double& x : a) x /= sum;
  return a;
}

TEST(Projection, AgreesWithSortingAndWithBisection) {
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto row = any_row(i);
    const std::vector<double> logits(row.begin(), row.end());
    const auto n = static_cast<Index>(logits.size());
    const auto check = [&](const std::string& spec, const std::vector<double>& expected) {
      std::vector<double> a(logits.size());
      make_normalizer(spec)->weigh(logits, {n, n - 1}, std::span(a));
      for (std::size_t j = 0; j < a.size(); ++j) {
        ASSERT_NEAR(a[j], expected[j], 1e-6) << spec << " row " << i;
      }
    };
    check("sparsemax", by_sorting(logits));
    check("entmax", by_sorting_three_halves(logits));
    if (i % 5 != 0) continue;
    for (const char* alpha : {"1.05", "1.3", "1.5", "2", "2.5", "4"}) {
      check(std::string("entmax:alpha=") + alpha, by_bisection(logits, std::stod(alpha)));
    }
  }
}

}  // namespace
}  // namespace headgauge
