// What lowers the loss on one text, tried on another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "experiments/recommend.hpp"
#include "headgauge/headgauge.hpp"
#include "results/outcomes.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

// The golden model on five documents of random tokens.
std::unique_ptr<ModelSource> open_random(int seed) {
  std::vector<Document> texts(5);
  for (int d = 0; d < 5; ++d) {
    for (int i = 0; i < 48; ++i) texts[d].tokens.push_back((i * i * (3 + seed) + 5 * d * i) % 41);
  }
  return testing::open_model(std::move(texts));
}

CompareOptions one_head_at_a_time() {
  CompareOptions options;
  options.scan.lengths = {48};
  options.scan.measures = {"weights"};
  options.normalizers = {"softmax:t=0.5", "sparsemax"};
  options.each = Each::head;
  return options;
}

struct Compared {
  CompareOptions options;
  std::vector<Intervention> interventions;
  Results results;
};

// A comparison in which nothing gains but what `gain` adds.
Compared without_gains() {
  Compared made;
  made.options = one_head_at_a_time();
  const auto source = open_random(0);
  made.interventions = make_interventions(made.options, source->info());
  made.results = compare(*source, made.options, made.interventions);
  LabelledArray& change = (*made.results.metric("loss_change"));
  for (double& value : change.values) value = .01;
  return made;
}

void gain(Compared& made, Index layer, Index head, Index intervention, double change = -.5) {
  made.results.metric("loss_change")->set({layer, head, intervention, 0, 0}, {change, .01, 200, 4});
}

std::string said(const Results& results) {
  std::string text;
  for (const SummaryLine& line : summarize_comparison(results)) text += line.text + "\n";
  return text;
}

// What the intervention does to the loss of the unseen text, by a comparison of its own.
double on_unseen_text(const std::string& heads, const std::string& normalizer) {
  CompareOptions options = one_head_at_a_time();
  options.each = Each::none;
  options.normalizers = {normalizer};
  options.scan.heads = heads;
  const auto source = open_random(1);
  return compare(*source, options, make_interventions(options, source->info()))
      .at("loss_change", {1, 0, 0});
}

TEST(Confirm, MeasuresWhatWasChosenOnTheOtherText) {
  Compared made = without_gains();
  gain(made, 0, 1, 2);
  gain(made, 1, 0, 1);
  gain(made, 1, 0, 2, -.4);  // not the best of its head
  confirm_gains(*open_random(1), made.options, made.interventions, made.results);
  const LabelledArray& confirmed = made.results.require_metric("loss_change_confirmed");
  EXPECT_NEAR(confirmed({0, 1, 2}), on_unseen_text("0.1", "sparsemax"), 1e-6);
  EXPECT_NEAR(confirmed({1, 0, 1}), on_unseen_text("1.0", "softmax:t=0.5"), 1e-6);
  EXPECT_GT(confirmed.at({1, 0, 1}).standard_error, 0);
  EXPECT_EQ(confirmed.at({1, 0, 1}).degrees_of_freedom, 4);  // of five documents
  const auto known =
      std::ranges::count_if(confirmed.values, [](double v) { return !std::isnan(v); });
  EXPECT_EQ(known, 2);

  // Together: both at once, in one model.
  const auto source = open_random(1);
  Intervention both;
  both.label = "both";
  both.heads = made.interventions[0].heads;
  both.heads.each([](int, int, HeadIntervention& of_head) { of_head = {}; });
  both.heads(0, 1) = made.interventions[1].heads(0, 1);
  both.heads(1, 0) = made.interventions[0].heads(1, 0);
  CompareOptions at_once = made.options;
  at_once.each = Each::none;
  const Results joint = compare(*source, at_once, std::vector{both});
  const LabelledArray& together = made.results.require_metric("loss_change_together");
  EXPECT_NEAR(together.values.front(), joint.at("loss_change", {1, 0, 0}), 1e-6);
}

TEST(Confirm, OfOneChoiceThereIsNoTogetherAndOfNoneNothing) {
  Compared made = without_gains();
  Compared none = made;
  gain(made, 0, 0, 1);
  confirm_gains(*open_random(1), made.options, made.interventions, made.results);
  EXPECT_EQ(made.results.metric("loss_change_together"), nullptr);
  confirm_gains(*open_random(1), none.options, none.interventions, none.results);
  for (const double value : none.results.require_metric("loss_change_confirmed").values) {
    EXPECT_TRUE(std::isnan(value));
  }
}

TEST(Confirm, OnlyWhatTheOtherTextShowsIsRecommended) {
  Compared made = without_gains();
  gain(made, 0, 1, 2);
  gain(made, 1, 0, 1);
  const auto names = [&] {
    std::vector<std::string> list;
    for (const Flag& flag : flag_gains(made.results)) list.push_back(flag.name + flag.advice);
    return list;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"candidate", "candidate"}));
  std::string last = summarize_comparison(made.results).back().text;
  expect_part(last, "No recommendation yet");

  LabelledArray& confirmed =
      made.results.add_metric("loss_change_confirmed", {"layer", "head", "normalizer"}, "nats");
  confirmed.with_standard_errors();
  confirmed.set({0, 1, 2}, {-.3, .02, 200, 4});
  confirmed.set({1, 0, 1}, {-.3, .3, 200, 4});
  const auto flags = flag_gains(made.results);
  ASSERT_EQ(flags.size(), 2u);
  for (const Flag& flag : flags) {
    EXPECT_EQ(flag.name, flag.layer == 0 ? "recommended" : "candidate");
    EXPECT_EQ(flag.advice.empty(), flag.layer != 0);
  }
  std::string all = said(made.results);
  expect_part(all, "Recommended for head 0.1: sparsemax");
  expect_part(all, "No change of the loss is shown there: head 1.0, softmax:t=0.5");

  // A change that is shown to lose answers of a task that the model does is not recommended.
  Results losing = made.results;
  add_outcomes({"keys"}, losing);
  losing.add_metric("does_task", {kOutcome}, "1").values = {kUndefined, 1};
  losing.text.tasks = {{.task = "keys", .shortest = 64, .tokens = 64}};
  LabelledArray& change = *losing.metric("loss_change");
  change.set({0, 1, 2, 1, 0}, {.3, .02, 20, 19});
  for (const Flag& flag : flag_gains(losing)) EXPECT_EQ(flag.name, "candidate");
  expect_no_part(said(losing), "Recommended");
  expect_part(said(losing),
              "At L = 64, answers are shown to be lost, so it is not recommended: "
              "head 0.1, sparsemax (keys)");
  change.set({0, 1, 2, 1, 0}, {.3, .3, 20, 19});
  EXPECT_NE(said(losing).find("Recommended for head 0.1"), std::string::npos) << "not shown";
  change.set({0, 1, 2, 1, 0}, {.3, .02, 20, 19});
  losing.metric("does_task")->values = {kUndefined, 0};
  EXPECT_NE(said(losing).find("Recommended for head 0.1"), std::string::npos) << "says nothing";

  // What is shown to be worse is no open question.
  made.results.metric("loss_change_confirmed")->set({1, 0, 1}, {.3, .02, 200, 4});
  all = said(made.results);
  expect_part(all, "The loss is shown to rise there: head 1.0, softmax:t=0.5 (+0.3000");
  for (double& error : made.results.metric("loss_change_confirmed")->standard_error) {
    error = kUndefined;
  }
  last = summarize_comparison(made.results).back().text;
  expect_part(last, "too few blocks");
}

// Of the whole model every gain is tried, for the best of many is flattered most.
TEST(Confirm, OfTheWholeModelEveryGainIsTried) {
  CompareOptions options = one_head_at_a_time();
  options.each = Each::none;
  const auto source = open_random(0);
  const auto interventions = make_interventions(options, source->info());
  Results results = compare(*source, options, interventions);
  for (Index k = 1; k <= 2; ++k) {
    results.metric("loss_change")->set({k, 0, 0}, {-.1 * static_cast<double>(k), .001, 200, 4});
  }
  confirm_gains(*open_random(1), options, interventions, results);
  const LabelledArray& confirmed = results.require_metric("loss_change_confirmed");
  EXPECT_NEAR(confirmed({1}), on_unseen_text("", "softmax:t=0.5"), 1e-6);
  EXPECT_NEAR(confirmed({2}), on_unseen_text("", "sparsemax"), 1e-6);
  EXPECT_EQ(results.metric("loss_change_together"), nullptr);
  EXPECT_EQ(results.settings["confirm_length"], 48);
}

TEST(Confirm, WhatWasNotFinishedConfirmsNothing) {
  Compared made = without_gains();
  gain(made, 0, 1, 2);
  std::stop_source stop;
  stop.request_stop();
  confirm_gains(*open_random(1), made.options, made.interventions, made.results, nullptr,
                stop.get_token());
  EXPECT_TRUE(made.results.partial);
  EXPECT_EQ(made.results.metric("loss_change_confirmed"), nullptr);
  expect_part(made.results.notices.back(), "nothing is confirmed");
  expect_part(summarize_comparison(made.results).back().text, "No recommendation yet");
}

TEST(Confirm, NeedsALossAndAWholeComparison) {
  Compared made = without_gains();
  gain(made, 0, 1, 2);
  Results partial = made.results;
  partial.partial = true;
  confirm_gains(*open_random(1), made.options, made.interventions, partial);
  EXPECT_EQ(partial.metric("loss_change_confirmed"), nullptr);
  std::erase_if(made.results.metrics,
                [](const auto& named) { return named.first == "loss_change"; });
  EXPECT_THROW(confirm_gains(*open_random(1), made.options, made.interventions, made.results),
               UnsupportedError);
}

}  // namespace
}  // namespace headgauge
