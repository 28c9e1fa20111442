// The norms of diag(d) + u v^T against dense singular values.
#include "normalize/one_term.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "kernels/levels.hpp"

namespace headgauge {
namespace {

class OneTerms : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(OneTerms);

struct Dense {
  double frobenius, spectral;
};

Dense dense(const OneTerm& j) {
  const auto n = static_cast<Eigen::Index>(j.entry.size());
  Eigen::MatrixXd m(n, n);
  for (Eigen::Index r = 0; r < n; ++r) {
    for (Eigen::Index c = 0; c < n; ++c) {
      const auto i = static_cast<std::size_t>(r), k = static_cast<std::size_t>(c);
      m(r, c) = i == k ? j.entry[i] : j.left[i] * j.right[k];
    }
  }
  return {m.norm(), Eigen::JacobiSVD<Eigen::MatrixXd>(m).singularValues()[0]};
}

void expect_norms(const OneTerm& j, const std::string& what) {
  const auto [frobenius, spectral] = dense(j);
  const OneTermNorms found = norms_of(j);
  EXPECT_NEAR(found.frobenius, frobenius, 1e-13 * frobenius) << what;
  EXPECT_NEAR(frobenius_of(j), frobenius, 1e-13 * frobenius) << what;
  EXPECT_NEAR(found.spectral, spectral, 1e-7 * spectral) << what;
}

// diag(g) - a g^T with a = softmax of n normal logits; near 1 - a_i by the sum of the others.
OneTerm of_softmax(std::mt19937_64& random, std::size_t n, double spread, int kind) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> a(n);
  for (double& x : a) x = kind == 3 ? 1.0 : spread * normal(random);
  if (kind == 1) a[n / 2] = *std::ranges::max_element(a);
  if (kind == 2) a[n / 2] = *std::ranges::max_element(a) * (1 - std::pow(10, 12 * uniform(random)));
  const double top = *std::ranges::max_element(a);
  double sum = 0;
  for (double& x : a) sum += x = std::exp(x - top);
  OneTerm j;
  j.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    double rest = 0;
    for (std::size_t k = 0; k < n; ++k) rest += k == i ? 0.0 : a[k];
    const double g = a[i] / sum * (kind == 4 ? uniform(random) : 1.0);
    j.left[i] = -a[i] / sum;
    j.right[i] = j.diagonal[i] = g;
    j.entry[i] = g * rest / sum;
  }
  return j;
}

TEST_P(OneTerms, OfSoftmaxRowsFromFlatToOneHot) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 400; ++i) {
    const std::size_t n = 1 + static_cast<std::size_t>(i) % 45;
    const double spread = std::pow(10, -3 + i % 9 * 0.6);
    for (int kind = 0; kind < 5; ++kind) {
      expect_norms(of_softmax(random, n, spread, kind),
                   std::to_string(i) + " of kind " + std::to_string(kind));
    }
  }
}

TEST_P(OneTerms, OfAnyShape) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 1500; ++i) {
    const std::size_t n = 1 + static_cast<std::size_t>(i) % 40;
    OneTerm j;
    j.resize(n);
    const double size = std::pow(10, i % 7 - 3);
    for (std::size_t k = 0; k < n; ++k) {
      j.diagonal[k] = i % 11 == 0 ? 0.0 : i % 13 == 0 ? size : size * normal(random);
      j.left[k] = i % 5 == 0 && k % 2 == 0 ? 0.0 : normal(random);
      j.right[k] = i % 3 == 0 ? j.left[k] : normal(random);
    }
    // Two singular values above all other d, and a pair of largest d that are nearly alike.
    if (i % 17 == 0 && n > 2) j.diagonal[n - 1] = j.diagonal[0] * (1 + std::pow(10, -(i % 14)));
    for (std::size_t k = 0; k < n; ++k) j.entry[k] = j.diagonal[k] + j.left[k] * j.right[k];
    expect_norms(j, std::to_string(i));
  }
}

// Both parts of the largest entry are 1; all that is left is 1e-12 and less.
TEST_P(OneTerms, WhatIsLeftOfAOneHotRow) {
  for (const double rest : {1e-3, 1e-12, 1e-100, 1e-250}) {
    OneTerm j;
    j.resize(5);
    const double sum = 1 + 3 * rest;
    for (std::size_t i = 0; i < 5; ++i) {
      const double a = (i == 2 ? 1 : i == 4 ? 0.0 : rest) / sum;
      j.left[i] = -a;
      j.right[i] = j.diagonal[i] = a;
      j.entry[i] = i == 2 ? a * (3 * rest / sum) : a * (1 - a);
    }
    // [3 r, -r 1^T; -r 1, r I] less terms of about 24 r^2: eigenvalues r, r, 0 and 4 r.
    const OneTermNorms found = norms_of(j);
    EXPECT_NEAR(found.spectral, 4 * rest, 1e-7 * 4 * rest + 40 * rest * rest) << rest;
    EXPECT_NEAR(found.frobenius, std::sqrt(18.0) * rest, 1e-12 * rest + 40 * rest * rest) << rest;
  }
}

TEST_P(OneTerms, OfNothing) {
  OneTerm j;
  EXPECT_EQ(norms_of(j).spectral, 0);
  j.resize(3);
  EXPECT_EQ(norms_of(j).frobenius, 0);
  EXPECT_EQ(norms_of(j).spectral, 0);
  EXPECT_EQ(frobenius_of(j), 0);
}

}  // namespace
}  // namespace headgauge
