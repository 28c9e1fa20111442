// What is said of the answers of tasks, on results made by hand.
#include "findings/answers.hpp"

#include <gtest/gtest.h>

#include "headgauge/metric_names.hpp"

namespace headgauge {
namespace {

// Two tasks under a window: `passkey`, most of whose answers are right, and `replay`, none of whose
// are, though its source helps.
Results two_tasks() {
  Results r;
  r.set_coord("pattern", std::vector<std::string>{"original", "window:size=6"});
  r.set_coord(kOutcome, std::vector<std::string>{"passkey", "replay"});
  const auto add = [&](const char* name, std::vector<std::string> dims) -> LabelledArray& {
    return r.add_metric(name, std::move(dims), "1");
  };
  const auto put = [&](const char* name, double passkey, double replay) {
    LabelledArray& metric = add(name, {"pattern", kOutcome});
    metric.values = {passkey, replay, passkey, replay};
  };
  put(metric::answer_right, 0.9, 0.0);
  r.metric(metric::answer_right)->with_intervals().low = {0.8, 0, 0.8, 0};
  put(metric::answers_kept, 0.25, kUndefined);
  LabelledArray& kept = r.metric(metric::answers_kept)->with_intervals();
  kept.low[2] = 0.1;
  kept.high[2] = 0.6;
  LabelledArray& change = add(metric::loss_change, {"pattern", kOutcome});
  change.with_standard_errors().with_rows();
  change.set({1, 0}, {2.5, 0.1, 16, 15});
  change.set({1, 1}, {3.25, 0.13, 16, 15});
  LabelledArray& gain = add(metric::answer_gain, {kOutcome});
  gain.with_standard_errors().with_rows();
  gain.set({0}, {4, 0.1, 16, 15});
  gain.set({1}, {3.5, 0.1, 16, 15});
  add(metric::does_task, {kOutcome}).values = {1, 1};
  r.text.tasks = {{.task = "passkey", .shortest = 64, .tokens = 96},
                  {.task = "replay", .shortest = 60, .tokens = 64}};
  return r;
}

TEST(AnswerSentences, SayNatsWhereFewAnswersAreRight) {
  const auto lines = answer_change_sentences(two_tasks());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(
      lines[0].text,
      "At L = 60 to 96, under window:size=6, the model keeps 25.0 % (10.0 to 60.0 %) of its right "
      "answers of passkey, whose loss changes by +2.5000 ± 0.10 nats; the loss of the answers of "
      "replay, to which their source is worth 3.50 nats, changes by +3.2500 ± 0.13 nats.");
}

TEST(AnswerSentences, SayTheLengthOfTheCasesOnce) {
  Results results = two_tasks();
  results.text.tasks = {{.task = "passkey", .shortest = 64, .tokens = 64}};
  results.metric(metric::does_task)->values = {0, 1};
  const auto lines = task_sentences(results);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[1].text.starts_with("At L = 64, the model is not shown to do passkey"))
      << lines[1].text;
}

TEST(AnswerSentences, SayThatAChangeLosesAReplay) {
  Results results = two_tasks();
  const auto at = [&](Index task) {
    return find_cell(results, metric::loss_change, {{"pattern", 1}, {kOutcome, task}});
  };
  EXPECT_EQ(lost_task(results, at), "passkey");
  results.metric(metric::does_task)->values = {0, 1};
  EXPECT_EQ(lost_task(results, at), "replay");
  results.metric(metric::does_task)->values = {0, 0};
  EXPECT_EQ(lost_task(results, at), std::nullopt);
}

}  // namespace
}  // namespace headgauge
