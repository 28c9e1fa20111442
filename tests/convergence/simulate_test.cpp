#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "headgauge/synthetic.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

SyntheticOptions small(const char* tokens = "gaussian") {
  SyntheticOptions options;
  options.tokens = tokens;
  options.dimension = 6;
  options.horizons = {0.5, 2};
  options.grid = {60, 120, 240, 480};
  options.replicates = 5;
  options.radii = {1, 2};
  options.threads = 2;
  return options;
}

// All numbers of two runs, bit by bit.
void expect_equal(const Results& a, const Results& b) {
  Results first = a, second = b;
  for (Results* results : {&first, &second}) {
    results->timings = {};
    results->tool = {};
    results->settings.erase("threads");
  }
  EXPECT_EQ(results_text(first), results_text(second));
}

// T5.2: rates at least 1 / (2 (1 + H^2)) for a random map; a little above 1/2 at most, where the
// bias of the covariance goes with 1/n.
TEST(SimulateCalibration, RatesLieWhereTheTheorySays) {
  SyntheticOptions options;
  options.dimension = 10;
  options.horizons = {0.5, 1, 2, 3, 5, 10};
  options.grid = {250, 435, 758, 1320, 2297, 4000};
  options.replicates = 16;
  options.seed = 1;
  const Results results = simulate(options);
  const auto& predicted = results.metric("rate_predicted")->values;
  for (std::size_t s = 0; s < 6; ++s) {
    EXPECT_NEAR(results.metric("horizon")->values[s], options.horizons[s], 1e-9);
    EXPECT_NEAR(predicted[s], 1 / (2 * (1 + std::pow(options.horizons[s], 2))), 1e-9);
    EXPECT_GE(results.metric("rate_covariance")->values[s], predicted[s] - 0.03) << s;
    EXPECT_LE(results.metric("rate_covariance")->values[s], 0.65) << s;
    EXPECT_LE(results.metric("rate_mean")->values[s], 0.65) << s;
    EXPECT_GE(results.metric("rate_mean")->values[s], predicted[s] - 0.03) << s;
  }
  // At small horizons both fall as sqrt(n) does, at large ones the covariance hardly at all.
  EXPECT_GT(results.metric("rate_covariance")->values[0], 0.4);
  EXPECT_LT(results.metric("rate_covariance")->values[5], 0.03);
  // Worst queries: 1/sqrt(n) in a small ball, and a constant that grows with it.
  EXPECT_NEAR(results.metric("uniform_rate")->values[0], 0.5, 0.1);
  const auto& constant = results.metric("uniform_constant")->values;
  for (std::size_t r = 1; r < constant.size(); ++r) EXPECT_GT(constant[r], constant[r - 1]);
  EXPECT_NEAR(constant[0] / results.metric("uniform_constant_predicted")->values[0], 1.1, 0.15);
}

TEST(Simulate, TheSameBitsOnAnyNumberOfThreads) {
  for (const char* tokens : {"gaussian", "sphere", "atoms"}) {
    SyntheticOptions options = small(tokens);
    options.threads = 1;
    const Results one = simulate(options);
    options.threads = 3;
    expect_equal(one, simulate(options));
  }
  SyntheticOptions options = small();
  options.reference = "sample";
  options.reference_tokens = 3000;
  options.threads = 1;
  const Results one = simulate(options);
  options.threads = 3;
  expect_equal(one, simulate(options));
}

// Stops after so many progress reports.
class StopAfter : public Progress {
 public:
  explicit StopAfter(int reports) : left_(reports) {}
  void update(std::string_view, double done, double total) override {
    EXPECT_LE(done, total * (1 + 1e-12));
    if (left_-- == 0) source.request_stop();
  }
  std::stop_source source;

 private:
  int left_;
};

class Resumed : public ::testing::Test {
 protected:
  // Runs with the journal in the folder.
  Results run(SyntheticOptions options, Progress* progress = nullptr, std::stop_token stop = {}) {
    Journal journal;
    journal.open(folder_.path(), {{"tokens", options.tokens}}, "--out");
    options.journal = journal;
    Results results = simulate(options, progress, std::move(stop));
    journal.flush();
    return results;
  }

  testing::TemporaryFolder folder_{"simulate"};
};

TEST_F(Resumed, GivesTheBitsOfARunThatWasNotInterrupted) {
  for (const char* tokens : {"gaussian", "atoms"}) {
    SyntheticOptions options = small(tokens);
    if (options.tokens == "gaussian") {
      options.reference = "sample";
      options.reference_tokens = 1000;
    }
    const Results whole = simulate(options);
    for (int reports : {8, 13}) {  // within a scale, at different points
      StopAfter progress(reports);
      const Results part = run(options, &progress, progress.source.get_token());
      EXPECT_TRUE(part.partial);
      EXPECT_TRUE(std::filesystem::exists(journal_path(folder_.path(), {})));
      EXPECT_EQ(part.metric("uniform_error"), nullptr);
      EXPECT_TRUE(std::isnan(part.metric("error_mean")->values.back()));
      // What was finished is what a whole run has.
      EXPECT_EQ(part.metric("error_mean")->values[0], whole.metric("error_mean")->values[0]);
    }
    expect_equal(run(options), whole);
    expect_equal(run(options), whole);  // nothing left to do
    std::filesystem::remove_all(folder_ / kJournalFolder);
  }
}

TEST(Simulate, RatesAreNeverInvented) {
  SyntheticOptions options = small();
  options.grid = {60, 120, 240};
  const Results results = simulate(options);
  for (const char* name : {"rate_mean", "rate_covariance", "uniform_rate"}) {
    for (double rate : results.metric(name)->values) EXPECT_TRUE(std::isnan(rate)) << name;
    EXPECT_EQ(results.metric(name)->rows[0], 3) << name;
  }
  options = small();
  options.replicates = 1;  // no spread: no standard errors, an unweighted fit
  const Results one = simulate(options);
  EXPECT_TRUE(std::isnan(one.metric("error_mean")->standard_error[0]));
  EXPECT_FALSE(std::isnan(one.metric("rate_mean")->values[0]));
}

TEST(Simulate, ASampleAsReferenceHasAFloor) {
  SyntheticOptions options = small();
  options.horizons = {0.5};
  options.grid = {30, 60, 120, 240, 480, 4000, 8000};
  options.reference = "sample";
  options.reference_tokens = 400;
  const Results results = simulate(options);
  EXPECT_GT(results.metric("reference_error_mean")->values[0], 0.01);
  EXPECT_GE(results.metric("points_under_floor_covariance")->values[0], 1);
  EXPECT_EQ(results.metric("rate_covariance")->rows[0] +
                results.metric("points_under_floor_covariance")->values[0],
            7);
  EXPECT_FALSE(results.notices.empty());
}

TEST(Simulate, OtherNormalizers) {
  SyntheticOptions options = small();
  options.normalizer = "softcap:c=2";
  const Results capped = simulate(options);
  EXPECT_TRUE(std::isnan(capped.metric("rate_predicted")->values[0]));
  EXPECT_EQ(capped.settings["reference"], "exact");
  for (double rate : capped.metric("rate_covariance")->values) EXPECT_NEAR(rate, 0.55, 0.15);
  EXPECT_EQ(capped.metric("hardmax_error"), nullptr);
  EXPECT_NEAR(capped.metric("uniform_constant")->values[0] /
                  capped.metric("uniform_constant_predicted")->values[0],
              1.2, 0.3);
  options.normalizer = "sparsemax";
  const Results sparsemax = simulate(options);
  EXPECT_EQ(sparsemax.settings["reference"], "sample");
  EXPECT_EQ(sparsemax.settings["reference_tokens"], 4 * 480);
  EXPECT_EQ(sparsemax.metric("uniform_error"), nullptr);
  EXPECT_GT(sparsemax.metric("error_mean")->values[0], sparsemax.metric("error_mean")->values[3]);
  options.reference = "exact";
  EXPECT_THROW(simulate(options), UnsupportedError);
  // A temperature is a smaller horizon.
  options = small();
  options.horizons.clear();
  options.scales = {4};
  const Results plain = simulate(options);
  options.normalizer = "softmax:t=2";
  EXPECT_NEAR(simulate(options).metric("horizon")->values[0],
              plain.metric("horizon")->values[0] / 2, 1e-12);
}

TEST(Simulate, RandomValuesAndSpheres) {
  SyntheticOptions options = small("sphere");
  options.values = "random";
  const Results results = simulate(options);
  EXPECT_EQ(results.settings["covariance_norm"], "spectral");
  EXPECT_EQ(results.settings["variance"], nullptr);
  for (double rate : results.metric("rate_covariance")->values) EXPECT_GT(rate, 0.2);
  options.values = "identity";
  EXPECT_NE(simulate(options).metric("error_mean_absolute")->values[0],
            results.metric("error_mean_absolute")->values[0]);
}

TEST(Simulate, RefusesWhatMakesNoSense) {
  const auto refused = [](auto change) {
    SyntheticOptions options = small();
    change(options);
    EXPECT_THROW(simulate(options), UsageError);
  };
  refused([](SyntheticOptions& o) { o.tokens = "uniform"; });
  refused([](SyntheticOptions& o) { o.dimension = 0; });
  refused([](SyntheticOptions& o) { o.grid = {200, 100}; });
  refused([](SyntheticOptions& o) { o.grid = {1, 100}; });
  refused([](SyntheticOptions& o) { o.grid = {100, 100}; });
  refused([](SyntheticOptions& o) { o.scales = {1}; });  // and horizons
  refused([](SyntheticOptions& o) { o.horizons = {0}; });
  refused([](SyntheticOptions& o) { o.horizons = {2, 1}; });
  refused([](SyntheticOptions& o) { o.variance = -1; });
  refused([](SyntheticOptions& o) { o.radii = {}; });
  refused([](SyntheticOptions& o) { o.reference = "none"; });
  refused([](SyntheticOptions& o) { o.normalizer = "nonsense"; });
  refused([](SyntheticOptions& o) { o.horizons = {1e35}; });
}

TEST(Simulate, PaperSettings) {
  const auto numbers = geometric(0.05, 50, 12);
  EXPECT_EQ(numbers.front(), 0.05);
  EXPECT_EQ(numbers.back(), 50);
  EXPECT_NEAR(numbers[1] / numbers[0], std::pow(1000, 1.0 / 11), 1e-12);
  EXPECT_EQ(geometric(3, 9, 1).size(), 1u);
}

}  // namespace
}  // namespace headgauge
