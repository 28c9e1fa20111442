// Slopes against log n and forecasts (docs/mathematics.md 7b) on curves whose laws are known.
#include "measures/dispersion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "headgauge/results.hpp"

namespace headgauge {
namespace {

// The entropy and the largest weight of a causal row with n keys.
using Law = std::function<double(double)>;

std::vector<Octave> octaves_of(int longest, const Law& entropy) {
  std::vector<Octave> octaves;
  for (int low = 1; low < longest; low *= 2) {
    double keys = 0, tokens = 0;
    for (int t = low + 1; t <= 2 * low; ++t) {
      keys += t;
      tokens += std::exp(entropy(t));
    }
    octaves.push_back({std::log(keys / low), std::log(keys / low), std::log(tokens / low)});
  }
  return octaves;
}

TEST(Octaves, AreThePowersOfTwoBelowTheLongest) {
  const std::vector<double> edges = {1, 2, 4, 8, 16, 32};
  const auto bins = octave_bins(edges);
  ASSERT_EQ(bins.size(), 5u);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(bins[k].first, static_cast<Index>(k) + 1);
    EXPECT_EQ(bins[k].last, static_cast<Index>(k) + 2);
  }
}

TEST(Octaves, JoinBinsThatAreTooNarrow) {
  // (512, 600] joins (256, 512]; (96, 100] joins (64, 96] to (64, 100], and (100, 128] (128, 256].
  const std::vector<double> edges = {64, 96, 100, 128, 256, 512, 600};
  const auto bins = octave_bins(edges);
  ASSERT_EQ(bins.size(), 3u);
  EXPECT_EQ(edges[static_cast<std::size_t>(bins[2].first - 1)], 256);
  EXPECT_EQ(bins[2].last, 7);
  EXPECT_EQ(edges[static_cast<std::size_t>(bins[1].first - 1)], 128);
  EXPECT_EQ(edges[static_cast<std::size_t>(bins[0].first - 1)], 64);
  EXPECT_EQ(bins[0].last, bins[1].first);
  EXPECT_TRUE(octave_bins(std::vector<double>{1}).empty());
}

TEST(Trend, FindsALineWithoutError) {
  std::vector<Octave> octaves;
  for (int k = 0; k < 5; ++k) octaves.push_back({.7 * k, .7 * k, 3 - .4 * .7 * k});
  const Trend trend = fit_trend(octaves);
  EXPECT_NEAR(trend.slope, -.4, 1e-12);
  EXPECT_NEAR(trend.standard_error, 0, 1e-12);
  EXPECT_NEAR(trend.next_step, 0, 1e-12);
}

// Three steps of one octave with slopes 1, 0, 1: weights 1/2, 1/sqrt 2, 1 over their sum.
TEST(Trend, AgreesWithAWorkedExample) {
  const double o = std::log(2.0);
  const std::vector<Octave> octaves = {
      {0, 0, 0}, {o, o, o}, {2 * o, 2 * o, o}, {3 * o, 3 * o, 2 * o}};
  const Trend trend = fit_trend(octaves);
  const double sum = 1.5 + std::sqrt(.5);
  EXPECT_NEAR(trend.slope, 1.5 / sum, 1e-12);
  const double variance = 1.5 * std::sqrt(.5) / (sum * sum);  // p (1 - p)
  const double q = 1.75 / (sum * sum);
  EXPECT_NEAR(trend.standard_error, std::sqrt(variance / (1 - q) * q), 1e-12);
  EXPECT_NEAR(trend.degrees_of_freedom, 1 / q - 1, 1e-12);  // 1.78
  EXPECT_TRUE(std::isnan(trend.next_step));  // too few for a variance of Student's law
}

TEST(Trend, IsUndefinedWithoutSteps) {
  EXPECT_TRUE(std::isnan(fit_trend({}).slope));
  const std::vector<Octave> one = {{0, 0, 1}}, two = {{0, 0, 1}, {1, 1, 1}};
  EXPECT_TRUE(std::isnan(fit_trend(one).slope));
  EXPECT_NEAR(fit_trend(two).slope, 0, 1e-12);
  EXPECT_TRUE(std::isnan(fit_trend(two).standard_error));
}

// A window that is full: what comes after says nothing of the slope, but of the noise.
TEST(Trend, TakesSlopesOnlyWhereTheNumberOfKeysGrows) {
  std::vector<Octave> octaves;
  for (int k = 0; k < 9; ++k) {
    const double keys = std::min(k, 5);
    octaves.push_back({1.0 * k, keys, .5 * keys + (k == 8 ? .3 : 0)});
  }
  const Trend trend = fit_trend(octaves);
  EXPECT_NEAR(trend.slope, .5, 1e-12);
  EXPECT_NEAR(trend.standard_error, 0, 1e-12);
  EXPECT_GT(trend.next_step, .1);
  const Forecast forecast = forecast_effective_tokens(octaves, 9);
  EXPECT_NEAR(forecast.value, std::exp(2.8), 1e-9);  // no key more than before
  EXPECT_GT(forecast.standard_error, .1 * forecast.value);
}

TEST(Forecast, IsExactForPowersOfN) {
  for (const double power : {0.0, .5, 1.0}) {
    const Law entropy = [&](double n) { return power * std::log(n); };
    const auto octaves = octaves_of(512, entropy);
    const auto measured = octaves_of(4096, entropy);
    for (std::size_t k = octaves.size(); k < measured.size(); ++k) {
      const Forecast forecast = forecast_effective_tokens(octaves, measured[k].position);
      const double value = std::exp(measured[k].value);
      const bool exact = power != .5;
      EXPECT_NEAR(forecast.value, value, (exact ? 1e-12 : 2e-2) * value) << power;
      EXPECT_LE(std::abs(forecast.value - value), 2 * forecast.standard_error) << power;
      EXPECT_LE(forecast.standard_error, (exact ? 2e-4 : .06) * value) << power;
    }
  }
}

TEST(Forecast, GrowsNoBeyondTheNumberOfKeysAndNotBelowOne) {
  std::vector<Octave> up, down;
  for (int k = 0; k < 8; ++k) {
    up.push_back({1.0 * k, 1.0 * k, 1.0 * k - .02 * (7 - k) * k});
    down.push_back({1.0 * k, 1.0 * k, .2 * (7 - k)});
  }
  EXPECT_LE(forecast_effective_tokens(up, 10).value, std::exp(10.0) * (1 + 1e-12));
  EXPECT_EQ(forecast_effective_tokens(down, 10).value, 1);
}

TEST(Forecast, NeedsFiveOctaves) {
  const auto octaves = octaves_of(32, [](double n) { return .3 * std::log(n); });
  ASSERT_EQ(octaves.size(), 5u);
  EXPECT_FALSE(std::isnan(forecast_effective_tokens(octaves, 4).value));
  EXPECT_TRUE(std::isnan(forecast_effective_tokens(std::span(octaves).first(4), 4).value));
  EXPECT_FALSE(forecast_holds(octaves).has_value());  // four to fit, one to compare with
}

// A head that begins to forget is not foreseen.
TEST(Forecast, DoesNotHoldWhereTheHeadChanges) {
  auto octaves = octaves_of(1024, [](double n) { return .9 * std::log(n); });
  EXPECT_EQ(forecast_holds(octaves), true);
  octaves.back().value -= 1;
  EXPECT_EQ(forecast_holds(octaves), false);
}

// Random walks in log n: two standard errors cover about 19 of 20 next octaves, and the slope's
// error is its spread.
TEST(Forecast, ErrorBarsAreHonestForRandomWalks) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal(0, .15);
  int covered = 0, of_slope = 0;
  constexpr int kDraws = 4000;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<Octave> octaves = {{0, 0, 1.5}};
    for (int k = 0; k < 9; ++k) {
      Octave next = octaves.back();
      next.position += std::log(2.0);
      next.keys = next.position;
      next.value += std::log(2.0) * (.5 + normal(random));
      octaves.push_back(next);
    }
    for (Octave& octave : octaves) octave.keys += 5;  // room above
    covered += *forecast_holds(octaves);
    const Trend trend = fit_trend(octaves);
    of_slope += std::abs(trend.slope - .5) <= 2 * trend.standard_error;
  }
  EXPECT_GT(covered, .93 * kDraws);
  EXPECT_LT(covered, .97 * kDraws);
  EXPECT_GT(of_slope, .86 * kDraws);
  EXPECT_LT(of_slope, .95 * kDraws);
}

}  // namespace
}  // namespace headgauge
