// What every normalizer promises, on thousands of rows.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numeric>

#include "normalize/every_spec.hpp"
#include "normalize/rows.hpp"

namespace headgauge {
namespace {

class EveryNormalizer : public ::testing::TestWithParam<std::string> {
 protected:
  const std::unique_ptr<Normalizer> normalizer_ = make_normalizer(GetParam());

  static RowContext context(std::size_t n) {
    return {static_cast<Index>(n), static_cast<Index>(n) - 1};
  }
  std::vector<double> weigh(const std::vector<double>& logits) const {
    std::vector<double> a(logits.size());
    normalizer_->weigh(logits, context(logits.size()), std::span(a));
    return a;
  }
};

INSTANTIATE_TEST_SUITE_P(All, EveryNormalizer, ::testing::ValuesIn(every_spec()),
                         [](const auto& tested) { return spec_name(tested.param); });

std::vector<double> widened(const std::vector<float>& row) {
  return {row.begin(), row.end()};
}

// Rows whose logits stay within the range where rules that are not Lipschitz are of size 1.
std::vector<float> mild_row(std::uint64_t i) {
  std::vector<float> row = any_row(i);
  for (float& l : row) l = 4 * std::tanh(l / 4);
  return row;
}

bool has_ties(std::vector<double> row) {
  std::ranges::sort(row);
  return std::ranges::adjacent_find(row) != row.end();
}

TEST_P(EveryNormalizer, TheFastPathAgreesWithFloat64) {
  for (std::uint64_t i = 0; i < 1500; ++i) {
    const auto row = i % 2 == 0 ? mild_row(i) : any_row(i);
    const auto exact = weigh(widened(row));
    std::vector<float> fast(row.size());
    const WeightSums sums = normalizer_->weigh(row, context(row.size()), std::span(fast));
    double mass = 0, magnitude = 0, square = 0, cube = 0;
    for (const double a : exact) {
      mass += a;
      magnitude += std::abs(a);
      square += a * a;
      cube += a * a * a;
    }
    const double scale = std::max(magnitude, 1e-30);
    for (std::size_t j = 0; j < row.size(); ++j) {
      ASSERT_NEAR(fast[j], exact[j], 2e-5 * std::abs(exact[j]) + 2e-6 * scale) << i << " " << j;
    }
    ASSERT_NEAR(sums.mass, mass, 1e-5 * scale) << i;
    ASSERT_NEAR(sums.abs_mass, magnitude, 1e-5 * scale) << i;
    ASSERT_NEAR(sums.square, square, 2e-5 * square + 1e-30) << i;
    ASSERT_NEAR(sums.cube, cube, 3e-5 * square * std::sqrt(square) + 1e-30) << i;
    ASSERT_NEAR(sums.max, *std::ranges::max_element(exact), 2e-5 * scale) << i;
    ASSERT_NEAR(sums.min, *std::ranges::min_element(exact), 2e-5 * scale) << i;
    ASSERT_EQ(sums.max_logit, *std::ranges::max_element(row));
    ASSERT_EQ(sums.min_logit, *std::ranges::min_element(row));
    if (magnitude > 1e-30) {
      double entropy = 0;
      for (const double a : exact) {
        const double p = std::abs(a) / magnitude;
        entropy -= p > 0 ? p * std::log(p) : 0;
      }
      ASSERT_NEAR(sums.entropy, entropy, 3e-5 * (1 + entropy)) << i;
    }
  }
}

// Callers may write the weights over the logits, or ask for the sums alone.
TEST_P(EveryNormalizer, TheFastPathWorksInPlaceAndWithoutWeights) {
  for (std::uint64_t i = 0; i < 300; ++i) {
    const auto row = i % 2 == 0 ? mild_row(i) : any_row(i);
    std::vector<float> weights(row.size()), in_place = row;
    const RowContext at = context(row.size());
    const WeightSums apart = normalizer_->weigh(row, at, std::span(weights));
    const WeightSums over = normalizer_->weigh(in_place, at, std::span(in_place));
    const WeightSums alone = normalizer_->weigh(row, at, std::span<float>());
    ASSERT_EQ(in_place, weights) << i;
    for (const WeightSums& sums : {over, alone}) {
      ASSERT_EQ(sums.square, apart.square) << i;
      ASSERT_EQ(sums.max, apart.max) << i;
      ASSERT_EQ(sums.max_logit, apart.max_logit) << i;
      ASSERT_EQ(sums.min_logit, apart.min_logit) << i;
    }
  }
}

TEST_P(EveryNormalizer, ALogitThatIsNotFiniteIsReported) {
  for (const std::size_t n : {1, 7, 16, 100}) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      std::vector<float> row(n, 0.5f), weights(n);
      row[n / 2] = bad;
      EXPECT_TRUE(std::isnan(normalizer_->weigh(row, context(n), std::span(weights)).log_sum_exp))
          << n << " " << bad;
    }
  }
}

TEST_P(EveryNormalizer, ARowThatSeesNoKeyHasNoWeights) {
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (const std::size_t n : {1, 2, 7, 16, 100, 500}) {
    const std::vector<float> row(n, kHidden);
    std::vector<float> weights(n, 1.0f), in_place = row;
    const RowContext at = context(n);
    for (const WeightSums& sums : {normalizer_->weigh(row, at, std::span(weights)),
                                   normalizer_->weigh(row, at, std::span<float>()),
                                   normalizer_->weigh(in_place, at, std::span(in_place))}) {
      for (const double sum : {sums.mass, sums.abs_mass, sums.square, sums.cube, sums.max, sums.min,
                               sums.rest_mass, sums.rest_square, sums.rest_cube}) {
        EXPECT_EQ(sum, 0) << n;
      }
      EXPECT_EQ(sums.max_logit, kHidden);
      EXPECT_EQ(sums.min_logit, kHidden);
      EXPECT_FALSE(std::isfinite(sums.log_sum_exp));
    }
    EXPECT_EQ(weights, std::vector<float>(n, 0.0f));
    EXPECT_EQ(in_place, weights);
    EXPECT_EQ(weigh(widened(row)), std::vector<double>(n, 0.0)) << n;
  }
}

TEST_P(EveryNormalizer, KeepsWhatItsTraitsPromise) {
  const NormalizerTraits traits = normalizer_->traits();
  bool zero = false;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto row = widened(i % 2 == 0 ? mild_row(i) : any_row(i));
    const auto a = weigh(row);
    for (const double w : a) {
      ASSERT_TRUE(std::isfinite(w));
      zero = zero || w == 0;
    }
    if (traits.simplex) {
      ASSERT_NEAR(std::accumulate(a.begin(), a.end(), 0.0), 1, 1e-12) << i;
    }
    ASSERT_GE(*std::ranges::min_element(a), 0) << i;
    if (traits.increasing) {
      std::vector<std::size_t> order(row.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, {}, [&](std::size_t j) { return row[j]; });
      for (std::size_t j = 1; j < order.size(); ++j) {
        if (row[order[j]] == row[order[j - 1]]) continue;
        ASSERT_LE(a[order[j - 1]], a[order[j]] + 1e-15) << i;
      }
    }
    // The order of the keys does not matter (top-k: but for ties).
    if (GetParam().starts_with("topk") && has_ties(row)) continue;
    std::vector<double> turned(row.rbegin(), row.rend());
    const auto b = weigh(turned);
    for (std::size_t j = 0; j < a.size(); ++j) {
      ASSERT_NEAR(a[j], b[a.size() - 1 - j], 1e-12 * (1 + std::abs(a[j]))) << i;
    }
  }
  EXPECT_TRUE(zero || !traits.sparse);
}

// The dense Jacobian, column by column.
Eigen::MatrixXd dense(const Normalizer& normalizer, const std::vector<double>& row,
                      RowContext context) {
  const auto n = static_cast<Eigen::Index>(row.size());
  Eigen::MatrixXd out(n, n);
  std::vector<double> unit(row.size(), 0.0), column(row.size());
  Jacobian exact;
  normalizer.jacobian(row, context, exact);
  for (Eigen::Index j = 0; j < n; ++j) {
    unit[static_cast<std::size_t>(j)] = 1;
    exact.apply(unit, column);
    unit[static_cast<std::size_t>(j)] = 0;
    out.col(j) = Eigen::Map<Eigen::VectorXd>(column.data(), n);
  }
  return out;
}

// Rows of 1 to 12 logits without ties: the kinks of a normalizer are elsewhere with probability 1.
std::vector<double> short_row(std::uint64_t i) {
  std::mt19937_64 generator(i);
  std::normal_distribution<double> normal(0.0, i % 3 == 0 ? 0.3 : 1.5);
  std::vector<double> row(1 + i % 12);
  for (double& l : row) l = normal(generator);
  return row;
}

// Math 6: checked against central differences. Where a step crosses a kink (a key that enters or
// leaves the support), or comes so near that the differences have not settled, those of half the
// step are others; such columns are left out and counted.
TEST_P(EveryNormalizer, TheJacobianIsThatOfCentralDifferences) {
  int compared = 0, unsettled = 0;
  for (std::uint64_t i = 0; i < 600; ++i) {
    const auto row = short_row(i);
    const auto j = dense(*normalizer_, row, context(row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) {
      const auto difference = [&](double step) {
        auto up = row, down = row;
        up[c] += step;
        down[c] -= step;
        auto out = weigh(up);
        const auto low = weigh(down);
        for (std::size_t r = 0; r < out.size(); ++r) out[r] = (out[r] - low[r]) / (2 * step);
        return out;
      };
      const auto whole = difference(2e-6), half = difference(1e-6);
      double change = 0, worst = 0;
      for (std::size_t r = 0; r < row.size(); ++r) {
        const double exact = j(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c));
        const double size = std::max(1.0, std::abs(exact));
        change = std::max(change, std::abs(whole[r] - half[r]) / size);
        worst = std::max(worst, std::abs(half[r] - exact) / size);
      }
      if (change > 5e-7) {
        ++unsettled;
        continue;
      }
      ++compared;
      ASSERT_LT(worst, 1e-6) << "row " << i << ", column " << c;
    }
  }
  EXPECT_GT(compared, 20 * unsettled);
}

TEST_P(EveryNormalizer, ProductsAndNormsAreThoseOfTheMatrix) {
  for (std::uint64_t i = 0; i < 400; ++i) {
    const auto row = short_row(i);
    const RowContext at = context(row.size());
    const auto j = dense(*normalizer_, row, at);
    const auto n = static_cast<Eigen::Index>(row.size());
    std::vector<double> v(row.size()), out(row.size());
    for (std::size_t k = 0; k < v.size(); ++k) v[k] = std::sin(static_cast<double>(i + 3 * k));
    normalizer_->vjp(row, at, v, out);
    const Eigen::VectorXd expected = j.transpose() * Eigen::Map<Eigen::VectorXd>(v.data(), n);
    Jacobian exact;
    normalizer_->jacobian(row, at, exact);
    ASSERT_LE(exact.terms.size(), 4u);
    // Near the edge of a support entries of 1e4 cancel to 1.
    double size = 1 + j.norm();
    for (const double d : exact.diagonal) size = std::max(size, std::abs(d));
    for (Eigen::Index k = 0; k < n; ++k) {
      ASSERT_NEAR(out[static_cast<std::size_t>(k)], expected[k], 1e-12 * size) << i;
    }
    const double spectral = Eigen::JacobiSVD<Eigen::MatrixXd>(j).singularValues()[0];
    ASSERT_NEAR(exact.frobenius(), j.norm(), 1e-11 * size) << i;
    ASSERT_NEAR(exact.spectral(), spectral, 1e-9 * size) << i;
    std::vector<float> narrow(row.begin(), row.end()), weights(row.size());
    const WeightSums sums = normalizer_->weigh(narrow, at, std::span(weights));
    const auto norms = normalizer_->jacobian_norms(narrow, weights, sums, at);
    // A logit next to a kink may be on its other side in float32.
    const auto rounded = dense(*normalizer_, widened(narrow), at);
    const double largest = Eigen::JacobiSVD<Eigen::MatrixXd>(rounded).singularValues()[0];
    ASSERT_NEAR(norms.spectral, largest, 2e-5 * size) << i;
    ASSERT_NEAR(norms.frobenius, rounded.norm(), 2e-5 * size) << i;
    // Valid bounds hold; undefined ones are absent.
    if (!std::isnan(norms.bound)) {
      ASSERT_LE(largest, norms.bound * (1 + 1e-5) + 1e-7) << i;
    }
    if (!std::isnan(norms.bound_paper)) {
      ASSERT_LE(largest, norms.bound_paper * (1 + 1e-5) + 1e-7) << i;
    }
    ASSERT_LE(largest, normalizer_->lipschitz(at) * (1 + 1e-9) + 1e-12) << i;
  }
}

// Rows as a scan meets them and as it does not: of one key, flat, tied, sharp, one-hot, on either
// side of 0, and rows to which some normalizers give no weight at all.
std::vector<std::vector<float>> rows_of_every_kind() {
  std::vector<std::vector<float>> rows = {{0.7f}, {-3.0f}, {0.0f}, {0, 0}, {1, 1, 1}, {-4, -4, -4}};
  for (std::uint64_t i = 0; i < 60; ++i) {
    std::vector<float> row = mild_row(i);
    row.resize(std::min<std::size_t>(row.size(), 2 + i % 30), 0.25f);
    rows.push_back(row);
    row[row.size() / 2] = *std::ranges::max_element(row);  // a tie for the first place
    rows.push_back(row);
    for (const float lift : {6.0f, 14.0f, 60.0f}) {  // one-hot under exp
      auto sharp = row;
      sharp[0] += lift;
      rows.push_back(sharp);
    }
    for (float& l : row) l = -std::abs(l) - 0.01f;  // no weight under softpick
    rows.push_back(row);
  }
  return rows;
}

// The matrix by central differences, to about 1e-9 of its size where there is no kink.
Eigen::MatrixXd by_differences(const Normalizer& normalizer, const std::vector<double>& row,
                               RowContext at) {
  constexpr double kStep = 1e-5;
  const auto n = static_cast<Eigen::Index>(row.size());
  Eigen::MatrixXd out(n, n);
  std::vector<double> moved = row, up(row.size()), down(row.size());
  for (std::size_t c = 0; c < row.size(); ++c) {
    moved[c] = row[c] + kStep;
    normalizer.weigh(moved, at, std::span(up));
    moved[c] = row[c] - kStep;
    normalizer.weigh(moved, at, std::span(down));
    moved[c] = row[c];
    for (std::size_t r = 0; r < row.size(); ++r) {
      out(static_cast<Eigen::Index>(r), static_cast<Eigen::Index>(c)) =
          (up[r] - down[r]) / (2 * kStep);
    }
  }
  return out;
}

TEST_P(EveryNormalizer, NormsOfEveryKindOfRowAreThoseOfTheMatrix) {
  int smooth = 0, rows = 0;
  for (const std::vector<float>& row : rows_of_every_kind()) {
    // Of a position far behind the keys, as under a mask too.
    for (const RowContext at : {context(row.size()), RowContext{std::ssize(row), 700}}) {
      std::vector<float> weights(row.size());
      const WeightSums sums = normalizer_->weigh(row, at, std::span(weights));
      const auto norms = normalizer_->jacobian_norms(row, weights, sums, at);
      const auto exact = widened(row);
      const Eigen::MatrixXd j = dense(*normalizer_, exact, at);
      const double spectral = Eigen::JacobiSVD<Eigen::MatrixXd>(j).singularValues()[0];
      // What float64 leaves of 1 - a in the matrix itself.
      Jacobian parts;
      normalizer_->jacobian(exact, at, parts);
      double largest = 0;
      for (const double d : parts.diagonal) largest = std::max(largest, std::abs(d));
      const double lost = 4e-15 * largest;
      ASSERT_NEAR(norms.frobenius, j.norm(), 2e-5 * j.norm() + lost) << rows;
      ASSERT_NEAR(norms.spectral, spectral, 2e-5 * spectral + lost) << rows;
      ASSERT_LE(norms.spectral, norms.frobenius * (1 + 1e-6) + lost) << rows;
      const Eigen::MatrixXd differences = by_differences(*normalizer_, exact, at);
      ++rows;
      if ((differences - j).norm() > 1e-6 * (1 + j.norm())) continue;  // a kink
      ++smooth;
      ASSERT_NEAR(norms.frobenius, differences.norm(), 2e-5 * j.norm() + 2e-6) << rows;
    }
  }
  EXPECT_GT(smooth, rows / 2);
}

// 1 - a of the largest weight has no digits left in float64, J has all of them: its norms fall with
// the weights of the others.
TEST_P(EveryNormalizer, NormsOfAOneHotRowKeepTheirDigits) {
  const std::string& name = normalizer_->info().name;
  if (name != "softmax" && name != "topk") return;
  const auto norms = [&](double lift) {
    const std::vector<float> row = {static_cast<float>(lift), 0.1f, -0.2f, 0.3f};
    std::vector<float> weights(row.size());
    const WeightSums sums = normalizer_->weigh(row, context(4), std::span(weights));
    return std::pair(normalizer_->jacobian_norms(row, weights, sums, context(4)), sums.rest_mass);
  };
  // Both in the range where J is nearly linear in the mass of the others.
  const auto [near, near_mass] = norms(14);
  const auto [far, far_mass] = norms(40);
  if (far_mass == 0 || near_mass > 1e-4) return;  // too cold, too warm, or only one key is kept
  EXPECT_NEAR(near.frobenius / far.frobenius, near_mass / far_mass, 1e-4 * near_mass / far_mass);
  EXPECT_NEAR(near.spectral / far.spectral, near_mass / far_mass, 1e-4 * near_mass / far_mass);
}

// Lemma 1: with logits in [-r, r] weights lie in [C1/n, C2/n], C1 and C2 the same for all n: the
// exponentials of -spread and spread, where the scaled logits are at most half the spread.
TEST_P(EveryNormalizer, Lemma1HoldsWhereItApplies) {
  const NormalizerInfo& info = normalizer_->info();
  const bool caps = info.name == "softcap";
  const auto scale = normalizer_->softmax_scale({1, 0});
  if (!info.lemma1.starts_with("applies")) {
    EXPECT_NE(info.lemma1.find(':'), std::string::npos) << "why";
    return;
  }
  ASSERT_TRUE(caps || scale);
  for (double range : {0.1, 1.0, 3.0}) {
    if (normalizer_->traits().unit_norms) range = std::min(range, 1.0);
    const double c = caps ? info.parameters.number("c") : 0;
    const double spread = 2 * (caps ? c * std::tanh(range / c) : *scale * range);
    for (std::uint64_t i = 0; i < 1000; ++i) {
      auto row = widened(any_row(i));
      for (double& l : row) l = range * std::tanh(l);
      const auto n = static_cast<double>(row.size());
      for (const double a : weigh(row)) {
        ASSERT_GE(a * n, std::exp(-spread) * (1 - 1e-12));
        ASSERT_LE(a * n, std::exp(spread) * (1 + 1e-12));
      }
    }
  }
}

}  // namespace
}  // namespace headgauge
