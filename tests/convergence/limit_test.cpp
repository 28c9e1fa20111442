// The closed forms against each other, against independent values, and against simulation.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "convergence/experiment.hpp"
#include "convergence/extremes.hpp"
#include "convergence/limit_map.hpp"
#include "convergence/reference.hpp"
#include "convergence/spread.hpp"

namespace headgauge {
namespace {

TEST(BesselRatio, IndependentValues) {
  for (double r : {1e-8, 1e-3, 0.1, 1.0, 3.0, 20.0, 90.0, 150.0, 600.0}) {
    EXPECT_NEAR(bessel_ratio(1, r), std::tanh(r), 1e-13);
    const double langevin = r < 0.01 ? r / 3 - r * r * r / 45 : 1 / std::tanh(r) - 1 / r;
    EXPECT_NEAR(bessel_ratio(3, r), langevin, 1e-12);
    for (double d : {2.0, 5.0, 10.0, 50.0}) {  // the library's own Bessel functions
      const double expected = std::cyl_bessel_i(d / 2, r) / std::cyl_bessel_i(d / 2 - 1, r);
      EXPECT_NEAR(bessel_ratio(static_cast<Index>(d), r) / expected, 1, 1e-11) << d << " " << r;
    }
  }
  for (Index d : {2, 10, 50, 300}) {  // 1 - (d-1)/(2r) + (d-1)(d-3)/(8r^2) + ...
    const double r = 1e8, k = static_cast<double>(d - 1);
    EXPECT_NEAR(1 - bessel_ratio(d, r), k / (2 * r) - k * (k - 2) / (8 * r * r), 1e-15);
    EXPECT_EQ(bessel_ratio(d, 0), 0);
  }
}

TEST(BesselRatio, TheTwoFormulasMeet) {
  for (Index d : {2, 7, 50}) {
    const double at = std::max(100.0, 2.0 * static_cast<double>(d * d));
    EXPECT_NEAR(bessel_ratio(d, at * (1 - 1e-13)), bessel_ratio(d, at * (1 + 1e-13)), 1e-13);
  }
}

TEST(BesselRatio, Table) {
  for (Index d : {1, 2, 3, 12, 50}) {
    const BesselRatioTable table(d);
    for (double r : {0.0, 1e-6, .01, .5, 2., 13., 77., 400., 1e4, 1e9}) {
      EXPECT_NEAR(table.ratio(r), bessel_ratio(d, r), 1e-10 * (1e-3 + bessel_ratio(d, r))) << r;
    }
    EXPECT_NEAR(table.over_r(0), 1.0 / static_cast<double>(d), 1e-15);
  }
  const BesselRatioTable three(3);  // E e^{rt} = sinh r / r
  for (double r : {0.1, 2.0, 30.0}) {
    EXPECT_NEAR(log_sphere_transform(three, r), std::log(std::sinh(r) / r), 1e-8);
  }
}

TEST(Quadratures, Moments) {
  for (auto [a, b] : {std::pair{.5, .5}, {.5, 3.0}, {2.0, 1.5}, {.5, 1.5}}) {
    const Quadrature rule = beta_quadrature(6, a, b);
    double moment = 1;  // E v^k = prod (a + i) / (a + b + i)
    for (int k = 0; k < 12; ++k) {
      double found = 0;
      for (std::size_t i = 0; i < 6; ++i) found += rule.weights[i] * std::pow(rule.nodes[i], k);
      EXPECT_NEAR(found, moment, 1e-13) << k;
      moment *= (a + k) / (a + b + k);
    }
  }
  const Quadrature normal = normal_quadrature(200, 3);
  double square = 0, exponential = 0;
  for (std::size_t i = 0; i < normal.nodes.size(); ++i) {
    square += normal.weights[i] * normal.nodes[i] * normal.nodes[i];
    exponential += normal.weights[i] * std::exp(3 * normal.nodes[i]);
  }
  EXPECT_NEAR(square, 1, 1e-12);
  EXPECT_NEAR(exponential / std::exp(4.5), 1, 1e-12);
}

TokenLaw gaussian(Index d, double variance) {
  TokenLaw law;
  law.dimension = d;
  law.variance = variance;
  return law;
}
TokenLaw sphere(Index d, double radius) {
  TokenLaw law;
  law.dimension = d;
  law.sphere = true;
  law.radius = radius;
  return law;
}
TokenLaw atoms(Index d, double radius, double variance = 0.5) {
  TokenLaw law = gaussian(d, variance);
  law.atoms = true;
  law.radius = radius;
  return law;
}

using Vector = std::vector<double>;

// All values of a coordinate that has three, one by one.
TEST(LimitMap, OfAtomsIsTheirSum) {
  for (const double radius : {1.0, 2.0, 4.0}) {
    const TokenLaw law = atoms(1, radius);
    const double r = radius * std::sqrt(0.5), share = 1 / (radius * radius);
    for (const double z : {0.0, 0.3, -2.0, 40.0}) {
      double mass = 0, mean = 0, twice = 0;
      const double values[] = {-r, 0, r}, weights[] = {share / 2, 1 - share, share / 2};
      for (int i = 0; i < 3; ++i) {
        mass += weights[i] * std::exp(z * values[i]);
        mean += weights[i] * std::exp(z * values[i]) * values[i];
      }
      mean /= mass;
      for (int i = 0; i < 3; ++i) {
        twice += weights[i] * std::exp(2 * z * values[i]) * std::pow(values[i] - mean, 2);
      }
      Vector out(1);
      const LimitMap map(law);
      map.apply(Vector{z}, out);
      EXPECT_NEAR(out[0], mean, 1e-12);
      EXPECT_NEAR(map.variance(Vector{z}), twice / (mass * mass), 1e-9 * (1 + twice / mass / mass));
    }
  }
}

TEST(DrawTokens, OfAtomsHaveTheirVarianceAndKurtosis) {
  for (const double radius : {1.0, 2.0, 4.0}) {
    const TokenLaw law = atoms(4, radius, 0.3);
    Matrix<float> tokens(20'000, 4);
    draw_tokens(law, {5, RandomDomain::phantom, 78, 0}, 0, tokens);
    double square = 0, fourth = 0;
    for (Index i = 0; i < tokens.rows(); ++i) {
      for (Index j = 0; j < 4; ++j) {
        square += std::pow(tokens(i, j), 2) / 80'000;
        fourth += std::pow(tokens(i, j), 4) / 80'000;
        EXPECT_LT(std::abs(tokens(i, j)), radius * std::sqrt(0.3) * 1.000001);
      }
    }
    // The error of the variance is that of a share, which is known.
    EXPECT_NEAR(square, 0.3, 4 * 0.3 * radius / std::sqrt(80'000));
    EXPECT_NEAR(fourth / (square * square), radius * radius, 0.2 * radius);
  }
}

TEST(LimitMap, OfExpByQuadratureIsTheClosedForm) {
  const auto normalizer = make_normalizer("softmax");
  for (const TokenLaw& law :
       {gaussian(3, 0.5), sphere(3, 1.5), sphere(1, 0.7), sphere(2, 1), gaussian(1, 2)}) {
    for (double length : {0.0, 0.2, 1.0, 3.0}) {
      const auto d = static_cast<std::size_t>(law.dimension);
      Vector z(d), closed(d), by_nodes(d), by_table(d);
      z[0] = length * (d > 1 ? 0.6 : 1);
      if (d > 1) z[1] = length * 0.8;
      const LimitMap softmax(law), direct(law, normalizer.get()), table(law, normalizer.get(), 4);
      softmax.apply(z, closed);
      direct.apply(z, by_nodes);
      table.apply(z, by_table);
      for (std::size_t i = 0; i < d; ++i) {
        EXPECT_NEAR(by_nodes[i], closed[i], 1e-9);
        EXPECT_NEAR(by_table[i], closed[i], 1e-9);
      }
      EXPECT_NEAR(direct.variance(z) / softmax.variance(z), 1, 1e-6) << length;
    }
  }
}

// O1, O2 and the bridge: mean and mean square of Gamma_n - Gamma over many draws of n tokens.
void simulate_query(const TokenLaw& law, const char* normalizer_name, double length) {
  const auto normalizer = normalizer_name == nullptr ? nullptr : make_normalizer(normalizer_name);
  const LimitMap map(law, normalizer.get());
  const Index d = law.dimension, n = 4000;
  Vector z(d), gamma(z.size());
  z[0] = length * 0.6;
  z[1] = length * 0.8;
  map.apply(z, gamma);
  Matrix<float> query(1, d), out(1, d), tokens(n, d);
  for (Index k = 0; k < d; ++k) query(0, k) = static_cast<float>(z[k]);
  TokenAttention attention(normalizer.get());
  TokenAttention::Scratch scratch;
  std::vector<Vector> along(d);
  Vector squares;
  for (std::uint32_t draw = 0; draw < 400; ++draw) {
    draw_tokens(law, {5, RandomDomain::phantom, 77, draw}, 0, tokens);
    attention.set_tokens(tokens);
    ASSERT_TRUE(attention.attend(query, out, scratch, {}));
    double square = 0;
    for (std::size_t k = 0; k < z.size(); ++k) {
      const double off = out(0, static_cast<Index>(k)) - gamma[k];
      along[k].push_back(off);
      square += off * off;
    }
    squares.push_back(square * static_cast<double>(n));
  }
  const double variance = map.variance(z);
  for (const Vector& off : along) {
    // The bias, of order variance / n, is far below the noise of 400 draws.
    const Spread spread = spread_of(off);
    EXPECT_NEAR(spread.mean, 0, 4 * spread.standard_error);
  }
  const Spread spread = spread_of(squares);
  EXPECT_NEAR(spread.mean, variance, 4 * spread.standard_error);
}

TEST(LimitMap, OfSoftmaxAgreesWithSimulation) {
  simulate_query(gaussian(3, 0.5), nullptr, 1.0);
  simulate_query(sphere(4, 1.5), nullptr, 1.5);
  simulate_query(atoms(3, 1), nullptr, 1.2);
  simulate_query(atoms(3, 2), nullptr, 1.2);
}

TEST(LimitMap, OfOtherNormalizersAgreesWithSimulation) {
  for (const char* normalizer : {"softcap:c=0.5", "softcap:c=2"}) {
    simulate_query(gaussian(3, 0.5), normalizer, 2.0);
  }
  simulate_query(sphere(4, 1.5), "softcap:c=1", 2.0);
}

Eigen::MatrixXd some_map(Index d, double scale) {
  Eigen::MatrixXd map(d, d);
  Vector z(d * d);
  RandomStream(4, RandomDomain::phantom, 1, 2).normals(z);
  for (Index i = 0; i < d * d; ++i) map.data()[i] = scale * z[i];
  return map;
}

// The moments of Gamma(x) over tokens x, by mapping them: nothing but the map in common.
void check_reference(const TokenLaw& law, double tolerance_in_errors) {
  const Eigen::MatrixXd map = some_map(law.dimension, 1.0), none;
  const Vector factors = {0.5, 2};
  ThreadPool pool(2);
  const ReferenceQuestion question{law,     map, factors, none, nullptr, CovarianceNorm::frobenius,
                                   100'000, 9};
  const auto references = exact_references(question, pool);
  for (std::size_t f = 0; f < factors.size(); ++f) {
    const LimitMap limit(law);
    const Index draws = 40'000, d = law.dimension;
    Matrix<float> tokens(draws, d), mapped(draws, d);
    draw_tokens(law, {1, RandomDomain::phantom, 8, 8}, 0, tokens);
    for (Index i = 0; i < draws; ++i) {
      Eigen::VectorXd x(d);
      for (Index k = 0; k < d; ++k) x(k) = tokens(i, k);
      const Eigen::VectorXd z = factors[f] * map * x;
      Vector gamma(d);
      limit.apply({z.data(), static_cast<std::size_t>(d)}, gamma);
      for (Index k = 0; k < d; ++k) {
        mapped(i, k) = static_cast<float>(gamma[k]);
      }
    }
    MomentSums sums(d);
    sums.add(mapped);
    const Moments found = sums.moments();
    const Moments& expected = references[f].moments;
    // Of a mean of independent draws: sqrt(tr C / N), and for C about sqrt((tr^2 + ||C||^2) / N).
    const double trace = expected.covariance.trace(), size = expected.covariance.norm();
    const auto n = static_cast<double>(draws);
    EXPECT_LT((found.mean - expected.mean).norm(),
              tolerance_in_errors * (std::sqrt(trace / n) + references[f].mean_error));
    EXPECT_LT((found.covariance - expected.covariance).norm(),
              tolerance_in_errors *
                  (std::hypot(trace, size) / std::sqrt(n) + references[f].covariance_error));
    EXPECT_LT(references[f].covariance_error, 0.02 * size);
    // A factor by itself gives the same bits.
    ReferenceQuestion alone = question;
    alone.factors = std::span(factors).subspan(f, 1);
    EXPECT_EQ(exact_references(alone, pool)[0].moments.covariance, expected.covariance);
  }
}

TEST(References, AgreeWithTheMap) {
  check_reference(gaussian(4, 0.5), 4);
  check_reference(atoms(4, 2), 4);
  check_reference(sphere(4, 1.3), 4);   // quadrature
  check_reference(sphere(14, 1.3), 4);  // draws
}

TEST(References, QuadratureAndDrawsOfTheSphereAgree) {
  Eigen::VectorXd singular(3);
  singular << 4, 1, 0.2;
  const Eigen::VectorXd coarse = sphere_eigenvalues(singular, 1.2, 20);
  const Eigen::VectorXd fine = sphere_eigenvalues(singular, 1.2, 60);
  EXPECT_LT((coarse - fine).norm(), 1e-6 * fine.norm());
  // An isotropic map: eigenvalue R^2 A_d(R^2 s)^2 / d each.
  const Eigen::VectorXd same = sphere_eigenvalues(Eigen::VectorXd::Constant(3, 2.0), 1.2, 10);
  const double ratio = bessel_ratio(3, 1.44 * 2);
  EXPECT_LT((same.array() - 1.44 * ratio * ratio / 3).matrix().norm(), 1e-10);
}

TEST(Hardmax, ItsLaw) {
  // Times sqrt(2 log n), of d = 2: from 4000 x 4000 quantiles of the two variables.
  EXPECT_NEAR(hardmax_law(2, 100) * std::sqrt(2 * std::log(1e2)), 1.08310, 5e-4);
  EXPECT_NEAR(hardmax_law(2, 100'000) * std::sqrt(2 * std::log(1e5)), 0.97980, 5e-4);
  EXPECT_NEAR(hardmax_law(2, 10'000'000'000) * std::sqrt(2 * std::log(1e10)), 0.92508, 5e-4);
  // d = 10, from 400 000 draws of them: 2.9483 +- 0.0011; to 2.918 in the end.
  EXPECT_NEAR(hardmax_law(10, 10'000'000'000) * std::sqrt(2 * std::log(1e10)), 2.9483, 0.0044);
}

TEST(Hardmax, SimulationFollowsTheLaw) {
  ThreadPool pool(2);
  for (Index d : {1, 2, 10}) {
    const std::vector<int> grid = {50, 200, 1000};
    HardmaxErrors errors;
    ASSERT_TRUE(hardmax_errors(d, grid, 100, 3, pool, {}, errors));
    for (std::size_t p = 0; p < grid.size(); ++p) {
      EXPECT_NEAR(errors.error[p], hardmax_law(d, grid[p]), 4 * errors.standard_error[p]) << d;
    }
  }
}

}  // namespace
}  // namespace headgauge
