// The golden numbers of docs/mathematics.md section 8 and the bounds of sections 2 and 3: the valid
// ones hold on every row, the printed ones fail where section 0 says so.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/levels.hpp"
#include "kernels/top_prefix_members.hpp"
#include "measures/distance_rows.hpp"
#include "measures/made_heads.hpp"

namespace headgauge {
namespace {

using oracle::operator*;
using oracle::operator+;

// One row of two keys with weights .6 and .4 and x = c I.
MadeHead two_keys(float c) {
  MadeHead head;
  head.rows = Matrix<float>(2, 2);
  head.rows(0, 0) = c;
  head.rows(1, 1) = c;
  head.logits = Matrix<float>(2, 2);
  head.logits(1, 0) = std::log(1.5f);
  return head;
}

double value(const RowValues& values, const char* metric, Index row, Index cell) {
  return values.find(metric)->second(row, cell);
}

TEST(Golden, TwoOrthogonalKeys) {
  MeasureOptions options;
  options.top_n = {1};
  SelectionDriver driver(options, {});
  RowValues values = driver.run(two_keys(1.0f));
  EXPECT_NEAR(value(values, "distance", 1, 0), 0.7211103, 1e-6);
  EXPECT_NEAR(value(values, "distance_bound_paper", 1, 0), 0.7656854, 1e-6);
  // E = E_main = ||y_1 - y_2|| for two keys.
  EXPECT_NEAR(value(values, "expected_distance", 1, 0), 0.7211103, 1e-6);
  EXPECT_NEAR(value(values, "expected_distance_upper", 1, 0), 0.7211103, 1e-6);
  values = driver.run(two_keys(0.1f));
  EXPECT_NEAR(value(values, "distance", 1, 0), 0.0721110, 1e-6);
  EXPECT_NEAR(value(values, "distance_bound_paper", 1, 0), 0.0765685, 1e-6);
  // Row 0 sees one key: nothing is outside any set.
  EXPECT_TRUE(std::isnan(value(values, "distance", 0, 0)));
}

// C-1: without its brackets the bound of Thm 1.1 is negative for short vectors.
TEST(Golden, BoundNeedsItsBrackets) {
  DistanceFacts facts;
  facts.n = 2;
  facts.size = 1;
  facts.selected = 0.6;
  facts.rest = 0.4;
  facts.set_norm = 0.06;
  facts.largest_norm = 0.1;
  facts.scaled_rest = 0.04;
  facts.cross = 0.1 * std::sqrt(2.0);
  EXPECT_NEAR(distance_bound_paper(facts), 0.0765685, 1e-6);
  EXPECT_NEAR(distance_bound(facts), 0.0765685, 1e-6);
  const double unbracketed = 0.4 * facts.cross + 0.1 * 0.6 * 1.0 - 0.4;
  EXPECT_NEAR(unbracketed, -0.2834315, 1e-6);
}

TEST(DistanceBound, SimplerHalfAloneWhereTheOtherSaysNothing) {
  DistanceFacts facts{.n = 10,
                      .size = 2,
                      .selected = 0.5,
                      .rest = 0.5,
                      .set_norm = 3.0,
                      .largest_norm = 0.1,
                      .scaled_rest = 2.0,
                      .cross = 0.1};
  const double simple = 2.0 + 8.0 * 3.0;
  EXPECT_LT(distance_bound(facts), simple);
  facts.cross = kUndefined;
  EXPECT_EQ(distance_bound(facts), simple);
  facts.cross = 0.1;
  facts.selected = 0.0;
  EXPECT_EQ(distance_bound(facts), simple);
}

TEST(DistanceBound, UnnormalisedWeightsUseWhatIsOutside) {
  // A3 with weights that sum to 3: rest d_1 + longest (outside * abar - rest).
  const DistanceFacts facts{.n = 4,
                            .size = 1,
                            .selected = 1.8,
                            .rest = 1.2,
                            .set_norm = 100.0,
                            .largest_norm = 2.0,
                            .scaled_rest = 100.0,
                            .cross = 0.5};
  EXPECT_NEAR(distance_bound(facts), 1.2 * 0.5 + 2.0 * (3 * 1.8 - 1.2), 1e-12);
}

struct Census {
  std::int64_t rows = 0;
  std::int64_t upper_violated = 0;             // printed Thm 2, all sizes
  std::int64_t alone = 0, alone_violated = 0;  // N = 1
};

void check_row(const RowValues& values, Index q, Index cell, bool alone, Census& census) {
  const auto at = [&](const char* metric) { return value(values, metric, q, cell); };
  if (std::isnan(at("distance"))) return;
  ++census.rows;
  const double slack = 1.0 - 1e-5;
  EXPECT_GE(at("distance_bound"), at("distance") * slack);
  // Softmax over a top-N set is where Thm 1.1 holds as printed (with brackets).
  EXPECT_GE(at("distance_bound_paper"), at("distance") * slack);
  EXPECT_GE(at("expected_distance_upper"), at("expected_distance") * slack);
  EXPECT_GE(at("separability_with_sinks"), at("separability_lower"));
  EXPECT_GE(at("separability_lower"), at("separability_lower_paper") - 1e-5);
  EXPECT_GE(at("separability_model_upper"), at("separability_model_lower") - 1e-6);
  EXPECT_LE(at("separability_model_upper"), 1.0 + 1e-6);
  EXPECT_GE(at("separability_upper_paper"), std::exp(-0.25) - 1e-6);  // C-5
  const bool violated = at("separability_with_sinks") > at("separability_upper_paper") + 1e-6;
  census.upper_violated += violated;
  if (alone) {
    ++census.alone;
    census.alone_violated += violated;
    EXPECT_EQ(at("separability_with_sinks"), 1.0);
    EXPECT_EQ(at("separability_model_lower"), 1.0);
    EXPECT_EQ(at("separability_model_upper"), 1.0);
  }
}

TEST(Bounds, HoldOnThousandsOfRows) {
  MeasureOptions options;
  options.top_n = {1, 2, 5, 20};
  options.critical_max = 2;
  SelectionDriver driver(options, {});
  Census census;
  std::uint64_t seed = 10;
  for (const Index dimension : {2, 16, 64}) {
    for (const double sharpness : {0.05, 1.0, 4.0, 15.0}) {
      for (const double uneven : {0.0, 1.0}) {
        const RowValues values = driver.run(make_head({.length = 200,
                                                       .dimension = dimension,
                                                       .sharpness = sharpness,
                                                       .vocabulary = seed % 2 == 0 ? 60 : 0,
                                                       .drift = seed % 3 == 0 ? 1.0 : 0.0,
                                                       .uneven = uneven,
                                                       .seed = seed + 1}));
        ++seed;
        for (Index q = 0; q < 200; ++q) {
          for (Index cell = 0; cell < 4; ++cell) {
            check_row(values, q, cell, cell == 0, census);
          }
        }
      }
    }
  }
  EXPECT_GT(census.rows, 15000);
  // C-5: the printed upper bound fails at N = 1 wherever r > 0 (visibly where r is not tiny), and
  // often beyond.
  EXPECT_GT(census.alone_violated, census.alone * 8 / 10);
  EXPECT_GT(census.upper_violated, census.alone);
}

class Ties : public EveryLevel {};
HEADGAUGE_EVERY_LEVEL(Ties);

// Where one key has all the weight, X and xi of the other members are r: not below it, however the
// weight is rounded.
TEST_P(Ties, AreNotBelowTheRadius) {
  MadeHead head = make_head({.length = 200, .dimension = 24, .seed = 5});
  std::mt19937_64 generator(6);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (Index q = 0; q < head.length(); ++q) {
    for (float& l : head.logits.row(q)) l = static_cast<float>(-2.5 - 2 * uniform(generator));
    head.logits(q, q / 2) = static_cast<float>(std::exp(-6 + 7 * uniform(generator)));
  }
  MeasureOptions options;
  options.top_n = {5};
  for (const char* normalizer : {"softpick", "sparsemax", "entmax", "entmax:alpha=3", "topk:k=1"}) {
    SelectionDriver driver(options, {}, 1, kGramLimit, normalizer);
    const RowValues values = driver.run(head);
    for (Index q = 5; q < head.length(); ++q) {
      ASSERT_EQ(value(values, "separability_with_sinks", q, 0), 0.2) << normalizer << ", row " << q;
      ASSERT_EQ(value(values, "separability_lower", q, 0), 0.2) << normalizer << ", row " << q;
    }
  }
}

// T2v: for fixed weights and r, and keys iid on the sphere, P(X_i <= r) lies between the bounds.
TEST(Bounds, ModelBoundsHoldUnderTheirModel) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal;
  for (const int dimension : {2, 8, 64}) {
    for (const int members : {2, 5, 12}) {
      std::vector<float> weights(static_cast<std::size_t>(members) + 16, 0.0f);
      BoundFacts facts;
      for (int i = 0; i < members; ++i) {
        const float a = static_cast<float>(std::exp(normal(generator)) / members);
        weights[i] = a;
        facts.mass += a;
        facts.squares += static_cast<double>(a) * a;
      }
      facts.largest2 = 1.0;
      facts.nearest = 1.0;
      facts.shrink2 = 1.0 / (1.0 + 2.0 / dimension);
      constexpr int kDraws = 400;
      std::vector<double> found;  // X_i of every draw
      for (int draw = 0; draw < kDraws; ++draw) {
        std::vector<oracle::Vector> x;
        for (int i = 0; i < members; ++i) {
          oracle::Vector v(dimension);
          for (double& c : v) c = normal(generator);
          x.push_back(1.0 / oracle::norm(v) * v);
        }
        for (int i = 0; i < members; ++i) {
          oracle::Vector sum(dimension, 0.0);
          for (int j = 0; j < members; ++j) {
            if (j != i) sum = sum + static_cast<double>(weights[j]) * x[j];
          }
          found.push_back(oracle::norm(sum));
        }
      }
      for (const double share : {0.3, 0.7, 1.0, 1.5, 2.5}) {
        facts.radius = share * std::sqrt(facts.squares);
        const MemberBounds bounds = bound_members(std::span(weights).first(members), facts);
        const double p = static_cast<double>(std::ranges::count_if(
                             found, [&](double X) { return X <= facts.radius; })) /
                         static_cast<double>(found.size());
        const double error = 4.0 * std::sqrt(0.25 / kDraws);  // four standard errors at most
        EXPECT_GE(p, bounds.model_lower / members - error);
        EXPECT_LE(p, bounds.model_upper / members + error);
      }
    }
  }
}

}  // namespace
}  // namespace headgauge
