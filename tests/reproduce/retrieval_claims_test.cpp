// Answers against the context and the heads: an input for which each claim holds, one for which it
// does not, one that cannot be decided, and those that test nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "headgauge/cells.hpp"
#include "headgauge/claims.hpp"
#include "headgauge/metric_names.hpp"
#include "reproduce/made_scan.hpp"

namespace headgauge {
namespace {

struct MadeCase {
  double tokens = 256, loss = 1, right = 0.5, entropy = 0.5, separability = 0.2;
};

// Numbers from 0 to 1 in an order that has nothing to do with others.
double unrelated_to(int k, int step) {
  return std::fmod((k + 1) * step * 0.6180339887498949, 1);
}

// Cases of two tasks in turn. The losses of the second are larger, its entropy is smaller.
Results made_cases(int count, const std::function<MadeCase(int)>& made, double first_done = 1,
                   double second_done = 1) {
  Results results;
  results.set_coord(kOutcome, std::vector<std::string>{kText, "passkey", "keys"});
  std::vector<double> numbers;
  for (int k = 0; k < count; ++k) numbers.push_back(k);
  results.set_coord("answered_case", numbers);
  results.add_metric(metric::does_task, {kOutcome}, "1").values = {kUndefined, first_done,
                                                                   second_done};
  const auto add = [&](const char* name, const std::function<double(int)>& value) {
    LabelledArray& metric = results.add_metric(name, {"answered_case"}, "1");
    for (int k = 0; k < count; ++k) metric.values[k] = value(k);
  };
  add(metric::case_task, [](int k) { return k % 2; });
  add(metric::case_tokens, [&](int k) { return made(k).tokens; });
  add(metric::case_answer_loss, [&](int k) { return made(k).loss + 5 * (k % 2); });
  add(metric::case_answer_right, [&](int k) { return made(k).right; });
  add(metric::case_entropy, [&](int k) { return made(k).entropy - 0.3 * (k % 2); });
  add(metric::case_separability, [&](int k) { return made(k).separability; });
  add(metric::case_selected, [&](int k) { return made(k).tokens / 10; });
  return results;
}

// Lengths of 128, 256 and 512 tokens, each for every third pair of cases.
double length_of(int k) {
  return 128 * std::pow(2, k / 2 % 3);
}

TEST(AnswersAreLostWithContext, EveryVerdict) {
  const Claim good = judge_claim("answers_are_lost_with_context", made_cases(60, [](int k) {
                                   return MadeCase{.tokens = length_of(k),
                                                   .loss = length_of(k) / 100 + unrelated_to(k, 1),
                                                   .right = length_of(k) < 500 ? 1. : 0.};
                                 }));
  EXPECT_EQ(good.verdict, holds) << good.measured;
  EXPECT_EQ(fact(good, "cases"), 60);
  EXPECT_EQ(fact(good, "tasks"), 2);
  EXPECT_EQ(fact(good, "right_shortest"), 1);
  EXPECT_EQ(fact(good, "right_longest"), 0);
  EXPECT_EQ(fact(good, "selected_longest"), 51.2);
  const Claim wrong =
      judge_claim("answers_are_lost_with_context", made_cases(60, [](int k) {
                    return MadeCase{.tokens = length_of(k),
                                    .loss = 9 - length_of(k) / 100 + unrelated_to(k, 1)};
                  }));
  EXPECT_EQ(wrong.verdict, does_not_hold) << wrong.measured;
  const Claim open =
      judge_claim("answers_are_lost_with_context", made_cases(16, [](int k) {
                    return MadeCase{.tokens = length_of(k), .loss = unrelated_to(k, 1)};
                  }));
  EXPECT_EQ(open.verdict, cannot_tell) << open.measured;
}

TEST(SignsOfLostAnswers, EveryVerdict) {
  const auto linked = [](double sign) {
    return [=](int k) {
      const double loss = length_of(k) / 100 + 4 * unrelated_to(k, 1);
      return MadeCase{.tokens = length_of(k),
                      .loss = loss,
                      .entropy = 0.5 + sign * unrelated_to(k, 1) / 10,
                      .separability = 0.2 - sign * unrelated_to(k, 1) / 10};
    };
  };
  for (const char* name : {"growing_entropy_loses_answers", "falling_separability_loses_answers"}) {
    const auto claim = [&](const Results& results) { return judge_claim(name, results); };
    expect_verdict(claim(made_cases(60, linked(1))), holds);
    expect_verdict(claim(made_cases(60, linked(-1))), does_not_hold);
  }
}

// Both follow the length, and have nothing else in common: that is no sign.
TEST(SignsOfLostAnswers, WhatFollowsTheLengthAloneIsNoSign) {
  const Claim claim =
      judge_claim("growing_entropy_loses_answers", made_cases(60, [](int k) {
                    return MadeCase{.tokens = length_of(k),
                                    .loss = length_of(k) / 100 + unrelated_to(k, 1),
                                    .entropy = length_of(k) / 1000 + unrelated_to(k, 5) / 10};
                  }));
  EXPECT_NE(claim.verdict, holds) << claim.measured;
  EXPECT_GT(fact(claim, "rank_correlation_low"), 0) << claim.measured;
}

TEST(RetrievalClaims, SayWhyTheyWereNotTested) {
  const auto mixed = [](int k) {
    return MadeCase{
        .tokens = length_of(k), .loss = unrelated_to(k, 1), .right = k % 3 == 0 ? 0. : 1.};
  };
  const auto all_right = [&](int k) {
    MadeCase made = mixed(k);
    made.right = 1;
    return made;
  };
  const auto none_right = [&](int k) {
    MadeCase made = mixed(k);
    made.right = 0;
    return made;
  };
  const auto one_length = [&](int k) {
    MadeCase made = mixed(k);
    made.tokens = 256 + k % 2;
    return made;
  };
  for (const char* name : {"answers_are_lost_with_context", "growing_entropy_loses_answers",
                           "falling_separability_loses_answers"}) {
    const auto claim = [&](const Results& results) { return judge_claim(name, results); };
    for (const auto& [results, why] :
         {std::pair{Results{}, "No cases of tasks were measured"},
          {made_cases(40, mixed, 0, 0), "not shown to do any of the tasks (40 cases)"},
          {made_cases(20, mixed, 1, 0), "10 cases are of tasks that the model does; 16"},
          {made_cases(40, one_length), "twice as long as the shortest"},
          {made_cases(40, none_right), "answers none of 40 cases right"},
          {made_cases(40, all_right), "answers all 40 cases right, at up to 512 tokens"}}) {
      const Claim untested = claim(results);
      EXPECT_EQ(untested.verdict, not_tested);
      expect_part(untested.measured, why);
    }
  }
}

}  // namespace
}  // namespace headgauge
