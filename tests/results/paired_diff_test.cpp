// Two models on several texts: what differs from text to text alone is no change, and a change that
// every text shows is found though the texts differ more.
#include <gtest/gtest.h>

#include <cmath>

#include "faults.hpp"
#include "headgauge/diff.hpp"
#include "statistics/worlds.hpp"

namespace headgauge {
namespace {

using Numbers = std::vector<double>;

constexpr const char* kFlagged = "mass_90";  // judges "wide"

// A run on one text whose metric "m" has these values, one for each head.
Results run_on(const std::string& text, const Numbers& values) {
  Results r;
  r.command = Command::scan;
  r.text.names = {text + ".txt"};
  r.text.sha256 = {text};
  r.text.tokens = {64};
  Numbers heads(values.size());
  for (std::size_t i = 0; i < heads.size(); ++i) heads[i] = static_cast<double>(i);
  r.set_coord("layer", Numbers{0});
  r.set_coord("head", heads);
  r.set_coord("length", Numbers{64});
  LabelledArray& m = r.add_metric("m", {"layer", "head", "length"}, "nats");
  m.values = values;
  m.with_standard_errors();
  m.standard_error.assign(values.size(), 9);  // from blocks within the text
  m.degrees_of_freedom.assign(values.size(), 15);
  return r;
}

// Four runs of each model. The values of head 0 are 1, 2, 30 and 4, and later 0.1 to 0.4 more.
struct Sides {
  std::vector<Results> before = {run_on("a", {1, 7}), run_on("b", {2, 7}), run_on("c", {30, 7}),
                                 run_on("d", {4, 7})};
  std::vector<Results> after = {run_on("d", {4.4, 8}), run_on("c", {30.3, 8}),
                                run_on("b", {2.2, 8}), run_on("a", {1.1, 8})};
};

TEST(PairedDiff, ChangesAreThoseOfEachTextByItself) {
  const Sides sides;
  const Results d = diff(sides.before, sides.after);
  const Estimate change = d.require_metric("m_change").at({0, 0, 0});
  EXPECT_NEAR(change.value, 0.25, 1e-12);
  EXPECT_NEAR(change.standard_error, std::sqrt(0.05 / 3 / 4), 1e-12);
  EXPECT_EQ(change.degrees_of_freedom, 3);
  const LabelledArray& m = d.require_metric("m");
  EXPECT_NEAR(m.at({0, 0, 0, 0}).value, 9.25, 1e-12);
  EXPECT_NEAR(m.at({0, 0, 1, 0}).value, 9.5, 1e-12);
  EXPECT_GT(m.at({0, 0, 1, 0}).standard_error, 6) << "the texts differ";
  const ChangeList list = list_changes(d);
  ASSERT_EQ(list.measured.size(), 1U);
  EXPECT_EQ(list.measured[0].labels[1].second, "0");
  EXPECT_NEAR(list.measured[0].errors, 0.25 / std::sqrt(0.05 / 12), 1e-9);
  EXPECT_EQ(d.text.names.size(), 4U);
  EXPECT_EQ(d.settings["pairs"], 4);
  EXPECT_EQ(d.settings["new"]["text"].size(), 4U);
  EXPECT_TRUE(d.notices.empty()) << d.notices.front();
  const Results single = diff(std::span(sides.before).first(1), std::span(sides.after).last(1));
  EXPECT_FALSE(single.settings.contains("pairs"));
}

TEST(PairedDiff, EqualChangesHaveNoError) {
  const Sides sides;
  const Results d = diff(sides.before, sides.after);
  const Estimate change = d.require_metric("m_change").at({0, 1, 0});
  EXPECT_EQ(change.value, 1);
  EXPECT_TRUE(std::isnan(change.standard_error));
  EXPECT_EQ(list_changes(d).unmeasured.size(), 1U);
}

TEST(PairedDiff, AValueThatOneTextLacksIsUndefined) {
  Sides sides;
  sides.after[1].metric("m")->values[0] = kUndefined;
  sides.before[1].metric("m")->none = 7;
  const Results d = diff(sides.before, sides.after);
  EXPECT_TRUE(std::isnan(d.at("m", {0, 0, 1, 0})));
  EXPECT_TRUE(std::isnan(d.at("m_change", {0, 0, 0})));
  expect_part(d.notices.front(), "c.txt: undefined only in the new file");
}

TEST(PairedDiff, IsPartialIfTheRunOnOneTextIs) {
  Sides sides;
  EXPECT_FALSE(diff(sides.before, sides.after).partial);
  sides.before[2].partial = true;  // not the first text, whose record the mean begins with
  const Results d = diff(sides.before, sides.after);
  EXPECT_TRUE(d.partial);
  EXPECT_EQ(d.notices.front(),
            "the text c.txt: the old run was interrupted: its results are incomplete");
}

TEST(PairedDiff, KeepsTheFlagsThatEveryTextGains) {
  Sides sides;
  const auto raise = [](Results& run, const std::string& name) {
    Flag flag;
    flag.name = name;
    run.flags.push_back(flag);
    run.metrics.front().first = kFlagged;
  };
  for (Results& run : sides.before) run.metrics.front().first = kFlagged;
  for (Results& run : sides.after) raise(run, "wide");
  sides.after[2].flags.clear();
  EXPECT_TRUE(diff(sides.before, sides.after).flags.empty());
  raise(sides.after[2], "wide");
  const Results d = diff(sides.before, sides.after);
  ASSERT_EQ(d.flags.size(), 1U);
  EXPECT_EQ(d.flags[0].change, "gained");
}

TEST(PairedDiff, FlagsHaveTheMeanOfTheTextsAndAdviceIfAllAgree) {
  Sides sides;
  for (Results& run : sides.before) run.metrics.front().first = kFlagged;
  for (std::size_t text = 0; text < 4; ++text) {
    Results& run = sides.after[text];
    run.metrics.front().first = kFlagged;
    Flag flag;
    flag.name = "wide";
    flag.value = 0.2 * static_cast<double>(text);
    flag.advice = text == 2 ? "one" : "two";
    run.flags.push_back(flag);
    flag.head = 1;
    flag.value = 1;
    flag.advice = "one";
    run.flags.push_back(flag);
  }
  const Results d = diff(sides.before, sides.after);
  ASSERT_EQ(d.flags.size(), 2U);
  EXPECT_NEAR(d.flags[0].value, 0.3, 1e-12);
  EXPECT_EQ(d.flags[0].advice, "");
  EXPECT_EQ(d.flags[1].value, 1);
  EXPECT_EQ(d.flags[1].advice, "one");
}

TEST(PairedDiff, NamesHaveNoMean) {
  Sides sides;
  for (std::size_t text = 0; text < 4; ++text) {
    for (auto* side : {&sides.before, &sides.after}) {
      LabelledArray& other = (*side)[text].add_metric("other", {"layer", "head"}, "head");
      other.identifier = true;
      other.values = {text == 1 ? 2.0 : 1.0, 3};
    }
  }
  const Results d = diff(sides.before, sides.after);
  const LabelledArray& other = d.require_metric("other");
  for (const Index run : {0, 1}) {
    EXPECT_TRUE(std::isnan(other.at({0, 0, run}).value));
    EXPECT_EQ(other.at({0, 1, run}).value, 3);
  }
}

TEST(PairedDiff, AMetricThatOneTextLacksIsLeftOutWhicheverTextItIs) {
  for (const std::size_t text : {std::size_t{0}, std::size_t{2}}) {
    Sides sides;
    for (std::size_t i = 0; i < 4; ++i) {
      if (i == text) continue;
      for (Results* run : {&sides.before[i], &sides.after[3 - i]}) {
        run->add_metric("extra", {"layer", "head"}, "nats").values = {1, 2};
      }
    }
    const Results d = diff(sides.before, sides.after);
    EXPECT_EQ(d.metric("extra"), nullptr);
    expect_part(d.notices.back(),
                "left out, for some of the texts lack them or have other labels: extra");
  }
}

TEST(PairedDiff, RefusesRunsWithoutAPartner) {
  const Sides sides;
  const auto refused = [](const std::vector<Results>& before, const std::vector<Results>& after) {
    return thrown<BadInputError>([&] { diff(before, after); });
  };
  const std::vector<Results> three(sides.before.begin(), sides.before.begin() + 3);
  expect_part(refused(three, three),
              "old: expected as many results as the others, 4 or more, found 3");
  expect_part(refused(sides.before, three), "new: expected as many results as the others");
  std::vector<Results> other = sides.after;
  other[0].text.sha256 = {"e"};
  expect_part(refused(sides.before, other), "one result on the text d.txt, found 0");
  other = sides.after;
  other[0].text.tokens = {32};
  expect_part(refused(sides.before, other), "one result on the text d.txt, found 0");
  other = sides.before;
  other[0] = other[1];
  expect_part(refused(other, other), "one result on the text b.txt, found 2");
}

// Runs on four texts that differ by 1, of `heads` heads; a model's own noise is 0.01 a text.
std::vector<Results> drawn(World& w, const std::vector<double>& of_texts, int heads, double shift) {
  std::vector<Results> runs;
  for (std::size_t text = 0; text < of_texts.size(); ++text) {
    Numbers values = w.normals(heads);
    for (double& value : values) value = of_texts[text] + 0.01 * value;
    values[0] += shift;
    runs.push_back(run_on(std::to_string(text), values));
  }
  return runs;
}

TEST(PairedDiffCalibration, ModelsThatDifferByChanceHaveNothingListed) {
  const double share = share_of_worlds([](World& w) {
    const std::vector<double> texts = w.normals(4);
    const auto before = drawn(w, texts, 36, 0), after = drawn(w, texts, 36, 0);
    return list_changes(diff(before, after)).changed > 0;
  });
  EXPECT_LE(share, .05 + three_errors(.05));
  EXPECT_GE(share, .02);
}

TEST(PairedDiffCalibration, AChangeBelowTheScatterOfTextsIsFound) {
  const double share = share_of_worlds([](World& w) {
    const std::vector<double> texts = w.normals(8);
    const auto before = drawn(w, texts, 36, 0), after = drawn(w, texts, 36, 0.04);
    const ChangeList list = list_changes(diff(before, after));
    return list.changed > 0 && list.measured[0].labels[1].second == "0";
  });
  EXPECT_GE(share, .95);
}

}  // namespace
}  // namespace headgauge
