// The claims on a model whose heads see random keys: inputs for which each holds, does not hold and
// cannot be decided, and what the comparisons are arranged to.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "headgauge/cells.hpp"
#include "headgauge/claims.hpp"
#include "reproduce/experiments.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

constexpr double kMadeLength = 512;

// The divergence at one row, of which the results hold the means over all rows up to each length.
using AtRow = std::function<double(double window, double n, double row)>;

Results made_divergence(const AtRow& at_row,
                        std::vector<double> numbers = {4, 8, 16, 32, 64, 128, 256}) {
  const std::vector<double> windows = {1, 32};
  Results results;
  results.set_coord("all_heads_window", windows);
  results.set_coord("all_heads_random", numbers);
  std::vector<double> lengths;
  for (int batch = 0; batch <= 8; ++batch) lengths.push_back(256 + 32 * batch);
  results.set_coord("all_heads_length", lengths);
  const std::vector<std::string> dims = {"all_heads_window", "all_heads_random",
                                         "all_heads_length"};
  LabelledArray& kl = results.add_metric("all_heads_kl", dims, "nats");
  LabelledArray& loss = results.add_metric("all_heads_loss_change", dims, "nats");
  for (Index w = 0; w < 2; ++w) {
    for (Index n = 0; n < std::ssize(numbers); ++n) {
      double sum = 0;
      Index l = 0;
      for (double row = 1; row <= kMadeLength; ++row) {
        sum += at_row(windows[w], numbers[n], row);
        if (row != lengths[l]) continue;
        kl({w, n, l}) = sum / row;
        loss({w, n, l++}) = 2 * sum / row;
      }
    }
  }
  return results;
}

// What drawing n of the keys outside of the window without repetition gives, to the power -p.
AtRow drawn(double p, double wobble = 0) {
  return [=](double window, double n, double row) {
    const double others = row - window;
    if (others <= n) return 0.0;
    // Neighbouring batches of 32 rows lean to either side.
    const double lean = std::fmod(std::floor((row - 1) / 32), 2) == 0 ? wobble : -wobble;
    return 3 * std::pow(1 / n - 1 / others, p + lean);
  };
}

TEST(ModelConverges, EveryVerdict) {
  const Results fast = made_divergence(drawn(1));
  for (const char* name : {"model_converges_with_random_keys", "model_converges_with_window"}) {
    const auto claim = [&](const Results& results) { return judge_claim(name, results); };
    EXPECT_EQ(claim(fast).verdict, holds) << claim(fast).measured;
    EXPECT_NEAR(fact(claim(fast), "exponent"), -1, 0.01);
    EXPECT_EQ(claim(made_divergence(drawn(2))).verdict, holds) << "faster is no failure";
    const Claim slow = claim(made_divergence(drawn(0.5)));
    EXPECT_EQ(slow.verdict, does_not_hold);
    EXPECT_NEAR(fact(slow, "exponent"), -0.5, 0.01);
    // Batches of exponents 0.4 and 1.2.
    const Claim open = claim(made_divergence(drawn(0.8, 0.4)));
    EXPECT_EQ(open.verdict, cannot_tell) << open.measured;
    EXPECT_LT(fact(open, "low"), -0.8);
    EXPECT_GT(fact(open, "high"), -0.8);
    EXPECT_EQ(claim(made_divergence(drawn(1), {4, 8, 16, 256})).verdict, not_tested)
        << "three numbers up to L/4";
    EXPECT_EQ(claim(made_divergence(drawn(1), {4, 8, 16, 32, 256})).verdict, Verdict::holds);
  }
}

TEST(ModelConverges, EachLooksAtItsOwnWindow) {
  const Results results = made_divergence([](double window, double n, double row) {
    return drawn(window == 1 ? 1 : 0.3)(window, n, row);
  });
  EXPECT_EQ(judge_claim("model_converges_with_random_keys", results).verdict, holds);
  EXPECT_EQ(judge_claim("model_converges_with_window", results).verdict, does_not_hold);
}

TEST(ModelConverges, SaysWhatIsBehindTheExponent) {
  Results results = made_divergence([](double window, double n, double row) {
    return drawn(1)(window, std::max(n, 64.0), row);  // the same for fewer keys
  });
  results.set_coord("layer", std::vector<double>{0});
  results.set_coord("head", std::vector<double>{0, 1, 2});
  results.add_metric("model_rate_predicted", {"layer", "head"}, "1").values = {0.3, 0.1, 0.5};
  results.add_metric("model_rate_mean", {"layer", "head"}, "1").values = {0.4, 0.45, kUndefined};
  const Claim claim = judge_claim("model_converges_with_random_keys", results);
  EXPECT_NEAR(fact(claim, "exponent_of_last_doubling"), -1, 0.01);
  EXPECT_EQ(claim.verdict, does_not_hold);
  // Of the rows of the second half alone.
  double sum = 0;
  for (double row = 257; row <= 512; ++row) sum += drawn(1)(1, 64, row);
  EXPECT_NEAR(fact(claim, "kl_4"), sum / 256, 1e-9);
  EXPECT_NEAR(fact(claim, "kl_64"), sum / 256, 1e-9);
  EXPECT_EQ(fact(claim, "loss_change_first"), results.at("all_heads_loss_change", {0, 0, 8}));
  EXPECT_EQ(fact(claim, "loss_change_last"), results.at("all_heads_loss_change", {0, 6, 8}));
  EXPECT_NEAR(fact(claim, "exponent_of_slowest_bound"), -0.2, 1e-12);
  EXPECT_NEAR(fact(claim, "exponent_of_median_rate"), -0.85, 1e-12);
}

TEST(ErrorConstantPredicts, EveryVerdict) {
  const auto heads = [](int count, const std::function<double(int)>& kl) {
    Results results;
    std::vector<double> labels;
    for (int h = 0; h < count; ++h) labels.push_back(h);
    results.set_coord("layer", std::vector<double>{0});
    results.set_coord("head", labels);
    const std::vector<std::string> dims = {"layer", "head"};
    LabelledArray& constant = results.add_metric("model_error_constant", dims, "1");
    LabelledArray& divergence = results.add_metric("each_head_kl", dims, "nats");
    LabelledArray& output = results.add_metric("each_head_output_change", dims, "1");
    for (int h = 0; h < count; ++h) {
      constant.values[h] = std::exp(h);
      divergence.values[h] = kl(h);
      output.values[h] = -h;
    }
    return results;
  };
  const auto rising = [](int h) { return 0.01 * h; };
  const Claim good = judge_claim("error_constant_predicts", heads(20, rising));
  EXPECT_EQ(good.verdict, holds);
  EXPECT_NEAR(fact(good, "rank_correlation"), 1, 1e-12);
  EXPECT_NEAR(fact(good, "rank_correlation_output_change"), -1, 1e-12);
  EXPECT_TRUE(std::isnan(fact(good, "rank_correlation_loss_change"))) << "it was not measured";
  expect_verdict(judge_claim("error_constant_predicts", heads(20, [](int h) { return -h; })),
                 does_not_hold);
  EXPECT_EQ(judge_claim("error_constant_predicts", heads(15, rising)).verdict, not_tested);
  // Rises, but hardly.
  const Claim weak =
      judge_claim("error_constant_predicts",
                  heads(20, [](int h) { return 0.01 * ((h * 7) % 20) + 0.001 * h; }));
  EXPECT_GT(fact(weak, "rank_correlation"), 0) << weak.measured;
  EXPECT_EQ(weak.verdict, cannot_tell) << weak.measured;
}

TEST(RandomKeys, NumbersDoubleToHalfOfTheContext) {
  EXPECT_EQ(numbers_of_random_keys(64), (std::vector<int>{4, 8, 16, 32}));
  EXPECT_EQ(numbers_of_random_keys(100), (std::vector<int>{4, 8, 16, 32}));
  const CompareOptions all = all_heads_options(100, {});
  EXPECT_EQ(all.scan.lengths, (std::vector<int>{52, 58, 64, 70, 76, 82, 88, 94, 100}));
  EXPECT_EQ(all.patterns.size(), 8u);
  EXPECT_EQ(all.patterns.back(), "bigbird:window=32,random=32,global=0");
}

// A comparison whose values say where they stand: window + number / 1000 + length / 1e6.
TEST(RandomKeys, ArrangedByWindowAndNumber) {
  Results comparison;
  comparison.settings = {{"each", "none"}};
  comparison.set_coord("layer", std::vector<double>{0});
  comparison.set_coord("head", std::vector<double>{0});
  comparison.set_coord("length", std::vector<double>{32, 64});
  std::vector<std::string> patterns = {"original"};
  // In another order, and one is missing.
  for (const int n : {32, 8, 4}) {
    for (const int window : {32, 1}) {
      patterns.push_back("bigbird:window=" + std::to_string(window) +
                         ",random=" + std::to_string(n) + ",global=0");
    }
  }
  comparison.set_coord("pattern", patterns);
  LabelledArray& kl = comparison.add_metric("kl", {"pattern", "length"}, "nats");
  for (Index p = 1; p < 7; ++p) {
    const double n = std::vector<double>{32, 8, 4}[(p - 1) / 2], window = p % 2 == 1 ? 32 : 1;
    for (Index l = 0; l < 2; ++l) kl({p, l}) = window + n / 1000 + (l + 1) / 1e6;
  }
  comparison.set_coord(kOutcome, std::vector<std::string>{kText});
  comparison.add_metric("loss", {"pattern", kOutcome, "length"}, "nats");
  LabelledArray& change =
      comparison.add_metric("loss_change", {"pattern", kOutcome, "length"}, "nats");
  for (std::size_t i = 0; i < kl.values.size(); ++i) change.values[i] = -kl.values[i];
  const Results arranged = by_random_keys(comparison);
  EXPECT_EQ(arranged.metrics.size(), 2u) << "what changed alone";
  EXPECT_EQ(arranged.settings["each"], "none");
  EXPECT_EQ(arranged.metric("kl")->dim_names(),
            (std::vector<std::string>{"window", "random", "length"}));
  EXPECT_EQ(arranged.at("kl", {0, 0, 0}), 1 + 0.004 + 1e-6);
  EXPECT_EQ(arranged.at("kl", {0, 3, 1}), 1 + 0.032 + 2e-6);
  EXPECT_EQ(arranged.at("kl", {1, 1, 1}), 32 + 0.008 + 2e-6);
  EXPECT_TRUE(std::isnan(arranged.at("kl", {1, 2, 1}))) << "16 keys were left out";
  EXPECT_EQ(arranged.metric("loss_change")->dim_names(), arranged.metric("kl")->dim_names());
  EXPECT_EQ(arranged.at("loss_change", {1, 1, 1}), -arranged.at("kl", {1, 1, 1}));
}

TEST(RandomKeys, OneHeadAtATime) {
  Results comparison;
  comparison.set_coord("layer", std::vector<double>{0});
  comparison.set_coord("head", std::vector<double>{0, 1});
  comparison.set_coord("length", std::vector<double>{32, 64});
  comparison.set_coord("pattern",
                       std::vector<std::string>{"original", each_head_options(64, {}).patterns[0]});
  comparison.set_coord(kOutcome, std::vector<std::string>{kText});
  const std::vector<double> values = {1, 2, 3, 4, 5, 6, 7, 8};
  comparison.add_metric("kl", {"layer", "head", "pattern", "length"}, "nats").values = values;
  comparison.add_metric("loss_change", {"layer", "head", "pattern", kOutcome, "length"}, "nats")
      .values = values;
  const Results arranged = by_head(comparison);
  EXPECT_EQ(arranged.metric("loss_change")->dim_names(),
            (std::vector<std::string>{"layer", "head"}));
  EXPECT_EQ(arranged.metric("loss_change")->values, (std::vector<double>{4, 8}));
  EXPECT_EQ(arranged.metric("kl")->dim_names(), (std::vector<std::string>{"layer", "head"}));
  EXPECT_EQ(arranged.metric("kl")->values, (std::vector<double>{4, 8}));
}

}  // namespace
}  // namespace headgauge
