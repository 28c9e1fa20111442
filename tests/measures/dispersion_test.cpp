// Slopes against log n and forecasts (docs/mathematics.md 7b) on curves whose laws are known.
#include "measures/dispersion.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
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
  EXPECT_EQ(edges[bins[2].first - 1], 256);
  EXPECT_EQ(bins[2].last, 7);
  EXPECT_EQ(edges[bins[1].first - 1], 128);
  EXPECT_EQ(edges[bins[0].first - 1], 64);
  EXPECT_EQ(bins[0].last, bins[1].first);
  EXPECT_TRUE(octave_bins(std::vector<double>{1}).empty());
}

TEST(Trend, FindsALineWithoutError) {
  std::vector<Octave> octaves;
  for (int k = 0; k < 5; ++k) octaves.push_back({.7 * k, .7 * k, 3 - .4 * .7 * k});
  const Trend trend = fit_trend(octaves);
  EXPECT_NEAR(trend.slope, -.4, 1e-12);
  EXPECT_NEAR(trend.standard_error, 0, 1e-12);
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
  const Forecast forecast = forecast_effective_tokens(octaves, 9);
  EXPECT_NEAR(forecast.value, std::exp(2.8), 1e-9);  // no key more than before
  EXPECT_LT(forecast.low, .9 * forecast.value);
  EXPECT_GT(forecast.high, 1.1 * forecast.value);
}

TEST(Trend, ForecastsWithoutDriftWhereTheNumberOfKeysNeverGrows) {
  std::vector<Octave> octaves;
  for (int k = 0; k < 6; ++k) octaves.push_back({1.0 * k, 5 + 1e-15 * k, k % 2 == 0 ? 2.0 : 2.2});
  const Forecast forecast = forecast_effective_tokens(octaves, 6);
  EXPECT_NEAR(forecast.value, std::exp(2.2), 1e-9);
  EXPECT_GT(forecast.high, 1.1 * forecast.value);
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
      EXPECT_LE(forecast.low, value * (1 + 1e-12)) << power;
      EXPECT_GE(forecast.high, value * (1 - 1e-12)) << power;
      EXPECT_LE(forecast.high, (1 + (exact ? 4e-4 : .15)) * forecast.low) << power;
    }
  }
}

TEST(Forecast, GrowsNoBeyondTheNumberOfKeysAndNotBelowOne) {
  std::vector<Octave> up, down;
  for (int k = 0; k < 8; ++k) {
    up.push_back({1.0 * k, 1.0 * k, 1.0 * k - .02 * (7 - k) * k});
    down.push_back({1.0 * k, 1.0 * k, .2 * (7 - k)});
  }
  const double keys = std::exp(10.0) * (1 + 1e-12);
  EXPECT_LE(forecast_effective_tokens(up, 10).value, keys);
  EXPECT_LE(forecast_effective_tokens(up, 10).high, keys);
  EXPECT_EQ(forecast_effective_tokens(down, 10).value, 1);
  EXPECT_EQ(forecast_effective_tokens(down, 10).low, 1);
}

// A head with a window of e^6 keys, seen by half of the last octave's rows, has no more of them.
TEST(Forecast, GrowsNoBeyondTheWindowOfTheHead) {
  std::vector<Octave> octaves;
  for (int k = 0; k < 8; ++k) {
    const double keys = std::min(1.0 * k, 5.4);
    octaves.push_back({1.0 * k, keys, .9 * keys});
  }
  octaves.back() = {7, 5.9, .9 * 5.9};
  const Forecast open = forecast_effective_tokens(octaves, 12);
  const Forecast within = forecast_effective_tokens(octaves, 12, 6);
  EXPECT_GT(open.high, std::exp(6.0));
  EXPECT_LE(within.high, std::exp(6.0) * (1 + 1e-12));
  EXPECT_LT(within.value, open.value);
  // No window of the past is forgotten: it holds what it held.
  EXPECT_NEAR(forecast_effective_tokens(octaves, 12, 5).value, std::exp(.9 * 5.9), 1e-9);
}

// Steps of 0, 1, 1 and 0.5 in units of an octave, by hand and by tests/reference/dispersion.py.
TEST(Forecast, AgreesWithAWorkedExample) {
  const double o = std::log(2.0);
  std::vector<Octave> octaves;
  for (int k = 0; k < 5; ++k) octaves.push_back({k * o, 5 + k * o, (k > 0 ? k - 1 : 0) * o + 1});
  octaves.back().value -= .5 * o;
  const Forecast next = forecast_effective_tokens(octaves, 5 * o);
  const Forecast later = forecast_effective_tokens(octaves, 7 * o);
  EXPECT_NEAR(next.value, 24.409346, 1e-6);
  EXPECT_NEAR(next.low, 7.3703643, 1e-6);
  EXPECT_NEAR(next.high, 80.839443, 1e-6);
  EXPECT_NEAR(later.value, 61.507696, 1e-6);
  EXPECT_NEAR(later.low, 5.0841026, 1e-6);
  EXPECT_NEAR(later.high, 744.12281, 1e-4);
}

// However wide the interval, a head that collapses is no hit, nor is one that explodes.
TEST(Forecast, CanBeMissedDownwardsAndUpwards) {
  std::vector<Octave> octaves;
  for (int k = 0; k < 9; ++k) octaves.push_back({.7 * k, 20, 4 + .6 * (k % 2)});
  EXPECT_EQ(forecast_holds(octaves), true);
  const Forecast forecast =
      forecast_effective_tokens(std::span(octaves).first(8), octaves.back().position);
  EXPECT_GT(forecast.high, 1.5 * forecast.value);
  EXPECT_NEAR(forecast.high / forecast.value, forecast.value / forecast.low, 1e-9);
  for (const double change : {-4.0, 4.0}) {
    auto changed = octaves;
    changed.back().value += change;
    EXPECT_EQ(forecast_holds(changed), false) << change;
  }
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

// A world of the declared model on these log positions: dy = .5 dx + .15 sqrt(h) z.
std::vector<Octave> random_walk(std::span<const double> positions, std::mt19937& random) {
  std::normal_distribution<double> normal(0, .15);
  std::vector<Octave> octaves;
  double value = 3;
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const double step = k > 0 ? positions[k] - positions[k - 1] : 0;
    value += .5 * step + std::sqrt(step) * normal(random);
    octaves.push_back({positions[k], positions[k] + 20, value});  // room above
  }
  return octaves;
}

constexpr int kWorlds = 2000;
constexpr double kMissed = 1 - kForecastLevel;
const double kWorldError = std::sqrt(kMissed * kForecastLevel / kWorlds);

// How many intervals miss the last octave, forecast from all but the last `ahead`.
double missed(std::span<const double> positions, std::size_t ahead, std::mt19937& random) {
  int count = 0;
  for (int world = 0; world < kWorlds; ++world) {
    const auto octaves = random_walk(positions, random);
    const Forecast forecast = forecast_effective_tokens(
        std::span(octaves).first(octaves.size() - ahead), octaves.back().position);
    const double measured = std::exp(octaves.back().value);
    count += measured < forecast.low || measured > forecast.high;
  }
  return static_cast<double>(count) / kWorlds;
}

TEST(Forecast, IntervalsHoldTheirLevelInWorldsOfTheModel) {
  std::mt19937 random(11);
  for (const int octaves : {6, 7, 10, 12}) {
    std::vector<double> even, uneven;
    for (int k = 0; k < octaves; ++k) {
      even.push_back(k * std::log(2.0));
      uneven.push_back((k > 0 ? uneven.back() : 0) + (k % 3 == 0 ? .45 : k % 3 == 1 ? 1.1 : .7));
    }
    for (const auto& positions : {even, uneven}) {
      EXPECT_NEAR(missed(positions, 1, random), kMissed, 3 * kWorldError) << octaves;
    }
  }
  // Two octaves ahead, where the drift's error is half of the variance.
  std::vector<double> positions;
  for (int k = 0; k < 11; ++k) positions.push_back(k * std::log(2.0));
  EXPECT_NEAR(missed(positions, 2, random), kMissed, 3 * kWorldError);
}

// The slope's error is its spread.
TEST(Trend, ErrorOfTheSlopeIsHonestForRandomWalks) {
  std::mt19937 random(11);
  std::vector<double> positions;
  for (int k = 0; k < 10; ++k) positions.push_back(k * std::log(2.0));
  int held = 0;
  for (int world = 0; world < kWorlds; ++world) {
    const Trend trend = fit_trend(random_walk(positions, random));
    held += std::abs(trend.slope - .5) <= 2 * trend.standard_error;
  }
  EXPECT_GT(held, .86 * kWorlds);
  EXPECT_LT(held, .95 * kWorlds);
}

}  // namespace
}  // namespace headgauge
