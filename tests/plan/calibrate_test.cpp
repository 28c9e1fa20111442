#include "headgauge/calibrate.hpp"

#include <gtest/gtest.h>

#include "plan/joint_change.hpp"
#include "plan/tiny_plan.hpp"
#include "statistics/student.hpp"

namespace headgauge {
namespace {

using testing::tiny_source;

CalibrateOptions rises(std::vector<double> nats) {
  CalibrateOptions options;
  options.tolerance_nats = std::move(nats);
  options.threads = 1;
  return options;
}

Results converged(HeadSource& source) {
  ConvergeOptions options;
  options.scan.lengths = {96};
  options.scan.measures = {"weights"};
  options.scan.threads = 1;
  options.replicates = 5;
  return converge(source, options);
}

TEST(Calibrate, LossesAreThoseOfThePlans) {
  const auto learn = tiny_source(4), confirm = tiny_source(3, 1);
  Results results = converged(*learn);
  const auto plans = calibrate_budgets({*learn, *confirm}, rises({10, 0.5}), results);
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_EQ(results.coord_numbers("rise")[0], 0.5) << "in order";
  for (Index r = 0; r < 2; ++r) {
    const AttentionPlan& plan = plans[static_cast<std::size_t>(r)].plan;
    Evaluations known;
    JointChange loss(*confirm, "confirm", known, {});
    const ByDocument change = loss.change(plan.heads).text;
    EXPECT_DOUBLE_EQ(results.at("calibrated_loss_change", {r}), mean(change));
    EXPECT_DOUBLE_EQ(results.at("calibrated_cache_share", {r}),
                     cache_share(plan.heads, confirm->info(), 96));
    for (Index layer = 0; layer < 2; ++layer) {
      for (Index head = 0; head < 4; ++head) {
        EXPECT_EQ(results.at("calibrated_keys", {layer, head, r}),
                  static_cast<double>(
                      cached_keys(plan.heads(static_cast<int>(layer), static_cast<int>(head)),
                                  static_cast<int>(layer), confirm->info(), 96)));
      }
    }
  }
  // Everything is shown to stay below 10 nats: the largest tolerance there is.
  EXPECT_GT(results.at("tolerance_for_rise", {1}), 0.9);
  const LabelledArray& share = results.require_metric("calibration_cache_share");
  for (Index t = 1; t < results.coord_size("calibrated_tolerance"); ++t) {
    EXPECT_LE(share({t}), share({t - 1})) << "larger tolerances keep fewer keys";
  }
}

// Cases of one task with answers of two tokens.
std::unique_ptr<HeadSource> tiny_cases(int count, int seed) {
  std::vector<Document> cases;
  for (int c = 0; c < count; ++c) {
    std::vector<int> prompt;
    for (int i = 0; i < 70; ++i) prompt.push_back((i * i + (5 + c) * i + 3 * seed) % 41);
    cases.push_back(make_case(std::move(prompt), std::vector<int>{c % 41, 7}, {.task = "t"}, "t"));
  }
  return make_model_source(resolve_model(testing::source_path("tests/golden/gpt2/plain")),
                           std::move(cases), {XSource::embedding, 1});
}

// A tolerance is good if both losses are shown to stay below the rise, as they are up to there.
TEST(Calibrate, AnswersAndTextMustBothBeKept) {
  const auto learn = tiny_source(4), confirm = tiny_source(3, 1);
  const auto odd = tiny_cases(4, 0), even = tiny_cases(5, 1);
  Results alone = converged(*learn), both = converged(*learn);
  const std::vector<double> allowed = {0.05, 0.2, 10};
  calibrate_budgets({*learn, *confirm}, rises(allowed), alone);
  EXPECT_EQ(alone.metric("calibration_answer_change"), nullptr);
  const auto plans =
      calibrate_budgets({*learn, *confirm, odd.get(), even.get()}, rises(allowed), both);
  const LabelledArray& text = both.require_metric("calibration_loss_change");
  const LabelledArray& answers = both.require_metric("calibration_answer_change");
  EXPECT_EQ(answers.at({0}).rows, 4);
  bool some_fewer = false;
  for (Index r = 0; r < std::ssize(allowed); ++r) {
    double expected = -1;
    for (Index t = 0; t < both.coord_size("calibrated_tolerance"); ++t) {
      const auto shown = [&](const LabelledArray& change) {
        const Estimate at = change.at({t});
        const double statistic = (allowed[r] - at.value) / at.standard_error;
        return student_tail(statistic, static_cast<double>(at.rows - 1)) <= .05;
      };
      if (!shown(text) || !shown(answers)) break;
      expected = both.coord_numbers("calibrated_tolerance")[t];
    }
    EXPECT_EQ(both.at("tolerance_for_rise", {r}), expected) << allowed[r];
    some_fewer = some_fewer || expected < alone.at("tolerance_for_rise", {r});
  }
  EXPECT_TRUE(some_fewer) << "answers must decide somewhere";
  Evaluations known;
  JointChange loss(*even, "even", known, {});
  EXPECT_DOUBLE_EQ(both.at("calibrated_answer_change", {2}),
                   mean(loss.change(plans[2].plan.heads).text));
}

TEST(Calibrate, SaysWhereNoToleranceIsGood) {
  const auto learn = tiny_source(2), confirm = tiny_source(2, 1);
  Results results = converged(*learn);
  const auto plans = calibrate_budgets({*learn, *confirm}, rises({1e-12}), results);
  if (results.at("tolerance_for_rise", {0}) < 0) {
    EXPECT_EQ(results.at("calibrated_cache_share", {0}), 1);
    EXPECT_TRUE(plans.front().plan.heads.empty() ||
                std::ranges::none_of(plans.front().plan.heads, &HeadPlan::changes));
    EXPECT_TRUE(results.require_metric("tolerance_for_rise").none.has_value());
  } else {
    ADD_FAILURE() << "two documents show nothing of a billionth";
  }
}

TEST(Calibrate, SameBitsOnAnyNumberOfThreads) {
  std::vector<std::string> texts;
  for (const int threads : {1, 2}) {
    const auto learn = tiny_source(3, 0, threads), confirm = tiny_source(2, 1, threads);
    Results results = converged(*learn);
    CalibrateOptions options = rises({0.1, 1});
    options.threads = threads;
    calibrate_budgets({*learn, *confirm}, options, results);
    results.tool = {};
    results.timings = {};
    texts.push_back(results_text(results));
  }
  EXPECT_EQ(texts[0], texts[1]);
}

TEST(Calibrate, RefusesWhatShowsNothing) {
  const auto one = tiny_source(1), learn = tiny_source(2), confirm = tiny_source(2, 1);
  Results results = converged(*learn);
  EXPECT_THROW(calibrate_budgets({*one, *confirm}, rises({0.1}), results), UsageError);
  EXPECT_THROW(calibrate_budgets({*learn, *confirm}, rises({}), results), UsageError);
  EXPECT_THROW(calibrate_budgets({*learn, *confirm}, rises({-0.1}), results), UsageError);
}

TEST(Calibrate, AStopAddsNothing) {
  const auto learn = tiny_source(2), confirm = tiny_source(2, 1);
  Results results = converged(*learn);
  std::stop_source stop;
  stop.request_stop();
  calibrate_budgets({*learn, *confirm}, rises({0.1}), results, nullptr, stop.get_token());
  EXPECT_TRUE(results.partial);
  EXPECT_EQ(results.metric("tolerance_for_rise"), nullptr);
}

}  // namespace
}  // namespace headgauge
