#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/cells.hpp"
#include "headgauge/diff.hpp"
#include "scan/passes.hpp"

namespace headgauge {
namespace {

using Numbers = std::vector<double>;
using Labels = std::vector<std::pair<std::string, std::string>>;

// Two runs of one layer with as many heads and lengths as the lists have.
Results differing(const std::vector<Numbers>& before, const std::vector<Numbers>& after,
                  double error) {
  const auto run = [&](const std::vector<Numbers>& heads) {
    Results r;
    Numbers numbers(heads.size()), lengths(heads.front().size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = std::ldexp(32, static_cast<int>(i));
    r.set_coord("layer", Numbers{3});
    r.set_coord("head", numbers);
    r.set_coord("length", lengths);
    LabelledArray& m = r.add_metric("m", {"layer", "head", "length"}, "1");
    m.values.clear();
    for (const Numbers& head : heads) m.values.insert(m.values.end(), head.begin(), head.end());
    if (!std::isnan(error)) m.standard_error.assign(m.values.size(), error);
    return r;
  };
  return diff(run(before), run(after));
}

TEST(Changes, AreSortedByTheirStandardErrors) {
  const double error = 0.5 / std::sqrt(2.0);  // 0.5 of both combined
  const Results d = differing({{1, 1}, {1, 1}, {1, 1}}, {{1.5, 3}, {1, 1}, {1, -9}}, error);
  const ChangeList list = list_changes(d);
  ASSERT_EQ(list.measured.size(), 2u);
  EXPECT_EQ(list.measured[0].labels, (Labels{{"layer", "3"}, {"head", "2"}, {"length", "64"}}));
  EXPECT_NEAR(list.measured[0].errors, 20, 1e-12);
  EXPECT_EQ(list.measured[0].change, -10);
  EXPECT_EQ(list.measured[1].labels, (Labels{{"layer", "3"}, {"head", "0"}, {"length", "64"}}));
  EXPECT_NEAR(list.measured[1].errors, 4, 1e-12);
  EXPECT_EQ(list.measured[1].before, 1);
  EXPECT_EQ(list.measured[1].after, 3);
  EXPECT_NEAR(list.measured[1].standard_error, 0.5, 1e-12);
  // 0.5 at length 32 of head 0 is one error, not above 2.
  EXPECT_EQ(list.measured[1].changed, 1);
  EXPECT_EQ(list.measured[1].values, 2);
  EXPECT_EQ(list.values, 6);
  EXPECT_EQ(list.changed, 2);
  EXPECT_NEAR(list.by_chance, 2 * 0.05, 1e-12) << "at most 5 % of those listed";
  // Without degrees of freedom errors are known: p of 4 errors, times 6 values over its rank of 2.
  EXPECT_NEAR(list.measured[1].p, 6.334248366623996e-05, 1e-15);  // 2 * stats.norm.sf(4)
  EXPECT_NEAR(list.measured[1].adjusted_p, 3 * 6.334248366623996e-05, 1e-15);
  EXPECT_EQ(list_changes(d, 1e-4).measured.size(), 1u);
  EXPECT_EQ(list_changes(d, 0.5).measured[1].changed, 1);
  // 2 * stats.norm.sf(1) = .317, times 6 / 3.
  EXPECT_EQ(list_changes(d, 0.64).measured[1].changed, 2);
}

// Of 4 batches on both sides 4 errors are beyond chance once, not among 6.
TEST(Changes, FewBatchesKnowLittle) {
  const double error = 0.5 / std::sqrt(2.0);
  Results d = differing({{1, 1}, {1, 1}, {1, 1}}, {{1.5, 3}, {1, 1}, {1, 1}}, error);
  EXPECT_EQ(list_changes(d).changed, 1);
  d.metric("m_change")->degrees_of_freedom.assign(6, 6);
  const ChangeList list = list_changes(d);
  EXPECT_EQ(list.changed, 1);
  EXPECT_EQ(list.measured[0].degrees_of_freedom, 6);
  EXPECT_NEAR(list.measured[0].p, 0.007118977963748101, 1e-12);  // 2 * stats.t.sf(4, 6)
  EXPECT_NEAR(list.measured[0].adjusted_p, 6 * 0.007118977963748101, 1e-11);
  EXPECT_EQ(list_changes(d, 0.04).changed, 0);
}

TEST(Changes, TheLargestOfAHeadSpeaksForIt) {
  const Results d = differing({{0, 0, 0}}, {{9, 7, 8}}, 1);
  const ChangeList list = list_changes(d);
  ASSERT_EQ(list.measured.size(), 1u);
  EXPECT_EQ(list.measured[0].after, 9);
  EXPECT_EQ(list.measured[0].changed, 3);
  EXPECT_EQ(list.measured[0].values, 3);
}

TEST(Changes, WithoutErrorsStandApartAndBySize) {
  const Results d = differing({{10, 10}, {1, 1}, {5, 5}}, {{10, 11}, {3, 1}, {5, 5}}, kUndefined);
  const ChangeList list = list_changes(d);
  EXPECT_TRUE(list.measured.empty());
  EXPECT_EQ(list.values, 0);
  EXPECT_EQ(list.by_chance, 0);
  ASSERT_EQ(list.unmeasured.size(), 2u);
  EXPECT_EQ(list.unmeasured[0].labels[1].second, "1");
  EXPECT_NEAR(list.unmeasured[0].relative, 2.0 / 11, 1e-12);
  EXPECT_TRUE(std::isnan(list.unmeasured[0].errors));
  EXPECT_NEAR(list.unmeasured[1].relative, 1.0 / 11, 1e-12);
  EXPECT_EQ(list.unmeasured_values, 6);
  EXPECT_EQ(summarize_changes(d, list).back().text,
            "2 of 6 values without standard errors changed.");
}

TEST(Changes, ShortLengthsWithoutErrorsAreLeftAsideWhereLongerOnesHaveSome) {
  Results d = differing({{1, 1}, {1, 1}}, {{9, 9}, {9, 9}}, 1);
  // In place: the error of length 32 of head 0.
  d.metric("m_change")->standard_error[0] = kUndefined;
  const ChangeList list = list_changes(d);
  EXPECT_EQ(list.values, 3);
  EXPECT_EQ(list.too_few, 1);
  EXPECT_EQ(list.unmeasured_values, 0);
  EXPECT_TRUE(list.unmeasured.empty());
  EXPECT_EQ(list.measured.size(), 2u);
  EXPECT_TRUE(summarize_changes(d, list).back().text.ends_with(
      " 1 more is left aside: too few rows for an error."));
}

TEST(Changes, RoundingIsNone) {
  const Results d = differing({{1}, {1}}, {{1 + 5e-7}, {1 + 2e-6}}, 0);
  const ChangeList list = list_changes(d);
  ASSERT_EQ(list.measured.size(), 1u);
  EXPECT_EQ(list.measured[0].labels[1].second, "1");
  EXPECT_TRUE(std::isinf(list.measured[0].errors)) << "the errors are 0";
  EXPECT_EQ(list.by_chance, 0) << "an error of 0 leaves nothing to chance";
  EXPECT_TRUE(list_changes(differing({{0}}, {{0}}, 0)).measured.empty());
}

TEST(Changes, UndefinedAndNotFoundAreNoChanges) {
  const auto run = [](const Numbers& values) {
    Results r;
    r.set_coord("length", Numbers{32, 64, 128});
    r.add_metric("critical_n", {"length"}, "keys").values = values;
    return r;
  };
  const ChangeList list = list_changes(diff(run({5, -1, kUndefined}), run({-1, 5, 3})));
  EXPECT_TRUE(list.unmeasured.empty());
  EXPECT_EQ(list.unmeasured_values, 0);
}

TEST(Changes, AreSentencesWhoseNumbersNameTheirCells) {
  const Results d =
      differing({{1, 1}, {1, 1}, {1, 1}}, {{1.5, 3}, {1, 1}, {1, -9}}, 0.5 / std::sqrt(2.0));
  const auto lines = summarize_changes(d, list_changes(d));
  ASSERT_EQ(lines.size(), 2u) << "one metric has one sentence";
  EXPECT_EQ(lines[0].text, "m of head 3.2 at length 64 went from 1.00 to -9.00.");
  EXPECT_EQ(lines[0].heads, std::vector<std::string>{"3.2"});
  EXPECT_EQ(lines[1].text,
            "2 of 6 values changed, at most 1 of them by chance (false discovery rate 5 %).");
  const auto& facts = lines[0].facts;
  ASSERT_EQ(facts.size(), 3u);
  EXPECT_EQ(facts[0].source.kind, FactSource::Kind::coordinate);
  EXPECT_EQ(facts[0].source.name, "length");
  EXPECT_EQ(facts[0].value, 64);
  for (const std::size_t k : {1, 2}) {
    EXPECT_EQ(facts[k].source.kind, FactSource::Kind::cell);
    EXPECT_EQ(facts[k].source.name, "m");
    EXPECT_EQ(d.metric("m")->at(facts[k].source.cell).value, facts[k].value);
  }
  EXPECT_EQ(facts[1].value, 1);
  EXPECT_EQ(facts[2].value, -9);
}

TEST(Changes, EachInterventionHasALine) {
  const auto run = [](const Numbers& values) {
    Results r;
    r.set_coord("normalizer", std::vector<std::string>{"original", "ssmax"});
    r.set_coord("length", Numbers{32, 64});
    LabelledArray& m = r.add_metric("loss", {"normalizer", "length"}, "nats");
    m.values = values;
    m.standard_error.assign(4, 0.1);
    return r;
  };
  const ChangeList list = list_changes(diff(run({1, 1, 1, 1}), run({2, 3, 5, 4})));
  ASSERT_EQ(list.measured.size(), 2u);
  EXPECT_EQ(list.measured[0].labels, (Labels{{"normalizer", "ssmax"}, {"length", "32"}}));
  EXPECT_EQ(list.measured[1].labels, (Labels{{"normalizer", "original"}, {"length", "64"}}));
}

// The loss of answers stands beside that of text, which may have no error.
TEST(Changes, EachOutcomeHasALine) {
  const auto run = [](double text, double keys, double error_of_text) {
    Results r;
    r.set_coord(kOutcome, std::vector<std::string>{kText, "keys"});
    r.set_coord("length", Numbers{64});
    LabelledArray& m = r.add_metric("loss", {kOutcome, "length"}, "nats");
    m.values = {text, keys};
    m.standard_error = {error_of_text, 0.1};
    return r;
  };
  const ChangeList both = list_changes(diff(run(1, 1, 0.1), run(2, 3, 0.1)));
  ASSERT_EQ(both.measured.size(), 2u);
  EXPECT_EQ(both.measured[0].labels, (Labels{{"outcome", "keys"}, {"length", "64"}}));
  EXPECT_EQ(both.measured[1].labels, (Labels{{"outcome", "text"}, {"length", "64"}}));
  const ChangeList one = list_changes(diff(run(1, 1, kUndefined), run(2, 3, kUndefined)));
  EXPECT_EQ(one.measured.size(), 1u);
  ASSERT_EQ(one.unmeasured.size(), 1u);
  EXPECT_EQ(one.unmeasured[0].labels, (Labels{{"outcome", "text"}, {"length", "64"}}));
  EXPECT_EQ(one.too_few, 0);
}

// A comparison of two normalizers at two lengths, with errors that are smaller for changes: these
// pair the rows.
Results compared() {
  Results r;
  r.set_coord("layer", Numbers{5});
  r.set_coord("head", Numbers{0, 3});
  r.set_coord("normalizer", std::vector<std::string>{"original", "ssmax", "relu"});
  r.set_coord("length", Numbers{32, 64});
  r.command = Command::compare;
  r.set_coord(kOutcome, std::vector<std::string>{kText});
  LabelledArray& loss = r.add_metric("loss", {"normalizer", kOutcome, "length"}, "nats");
  loss.values = {2, 3, 2.5, 3.25, 2, 3.125};
  loss.standard_error.assign(6, 10);
  LabelledArray& change = r.add_metric("loss_change", {"normalizer", kOutcome, "length"}, "nats");
  change.values = {0, 0, 0.5, 0.25, 0, 0.125};
  change.standard_error = {0, 0, 0.125, 0.03125, 0.125, 0.125};
  change.change_of = "loss";
  return r;
}

TEST(ChangesOfAComparison, TakeTheErrorsOfTheChange) {
  const ChangeList list = list_changes(compared());
  ASSERT_EQ(list.measured.size(), 1u) << "the errors of the losses would hide it";
  const Change& change = list.measured[0];
  EXPECT_EQ(change.metric, "loss");
  EXPECT_EQ(change.labels,
            (Labels{{"normalizer", "ssmax"}, {"outcome", "text"}, {"length", "64"}}));
  EXPECT_EQ(change.cell, (std::vector<Index>{0, 1}));
  EXPECT_EQ(change.before, 3);
  EXPECT_EQ(change.after, 3.25);
  EXPECT_EQ(change.change, 0.25);
  EXPECT_EQ(change.standard_error, 0.03125);
  EXPECT_EQ(change.errors, 8);
  EXPECT_EQ(change.values, 2);
  EXPECT_EQ(change.changed, 2);
  // The original is not compared with itself: 4 values, not 6.
  EXPECT_EQ(list.values, 4);
  EXPECT_EQ(list.changed, 2);
  EXPECT_EQ(list.unmeasured_values, 0);
  EXPECT_NEAR(list.by_chance, 2 * 0.05, 1e-12);
  const ChangeList all = list_changes(compared(), 0.5);
  ASSERT_EQ(all.measured.size(), 2u);
  EXPECT_EQ(all.measured[1].labels,
            (Labels{{"normalizer", "relu"}, {"outcome", "text"}, {"length", "64"}}));
  EXPECT_EQ(all.measured[1].errors, 1);
}

TEST(ChangesOfAComparison, HaveALineForEachHeadAndIntervention) {
  Results r = compared();
  const std::vector<std::string> dims{"layer", "head", "normalizer", "length"};
  r.add_metric("entropy_with_sinks", dims, "nats").values = {1, 1, 2, 3, 1, 1, 4, 4, 4, 5, 4, 4};
  LabelledArray& change = r.add_metric("other_name", dims, "nats");
  change.values = {0, 0, 1, 2, 0, 0, 0, 0, 0, 1, 0, 0};
  change.change_of = "entropy_with_sinks";
  const ChangeList list = list_changes(r);
  EXPECT_EQ(list.measured.size(), 1u);
  ASSERT_EQ(list.unmeasured.size(), 2u);
  EXPECT_EQ(list.found, 3);
  EXPECT_EQ(list.unmeasured[0].labels,
            (Labels{{"normalizer", "ssmax"}, {"layer", "5"}, {"head", "0"}, {"length", "64"}}));
  EXPECT_EQ(list.unmeasured[0].relative, 0.4) << "of the largest value, 5";
  EXPECT_EQ(list.unmeasured[0].changed, 2);
  EXPECT_EQ(list.unmeasured[1].labels,
            (Labels{{"normalizer", "ssmax"}, {"layer", "5"}, {"head", "3"}, {"length", "64"}}));
  EXPECT_EQ(list.unmeasured_values, 8);
  EXPECT_EQ(list.unmeasured_changed, 3);
}

// One denominator for all interventions, or the list is in no order.
TEST(ChangesOfAComparison, AreRelativeToTheLargestValueOfTheMetric) {
  Results r = compared();
  r.add_metric("entropy_with_sinks", {"normalizer", "length"}, "nats").values = {1, 1, 1, 2, 1, 8};
  LabelledArray& change =
      r.add_metric("entropy_with_sinks_change", {"normalizer", "length"}, "nats");
  change.values = {0, 0, 0, 1, 0, 7};
  change.change_of = "entropy_with_sinks";
  const ChangeList list = list_changes(r);
  ASSERT_EQ(list.unmeasured.size(), 2u);
  EXPECT_EQ(list.unmeasured[0].relative, 7.0 / 8);
  EXPECT_EQ(list.unmeasured[1].relative, 1.0 / 8);
}

TEST(ChangesOfAComparison, AreOfMetricsWithAChangeAlone) {
  Results r = compared();
  r.set_coord("position", Numbers{8, 16});
  r.add_metric("entropy_with_sinks", {"normalizer", "length"}, "nats").values = {1, 1, 9, 9, 9, 9};
  r.add_metric("by_position", {"normalizer", "position"}, "nats").values = {1, 1, 9, 9, 9, 9};
  LabelledArray& change = r.add_metric("by_position_change", {"normalizer", "position"}, "nats");
  change.values = {0, 0, 8, 8, 8, 8};
  change.change_of = "by_position";
  r.add_metric("gone_change", {"normalizer", "length"}, "nats").change_of = "gone";
  const ChangeList list = list_changes(r);
  EXPECT_EQ(list.measured.size(), 1u);
  EXPECT_TRUE(list.unmeasured.empty());
  EXPECT_EQ(list.unmeasured_values, 0);
}

// A critical N of -1 says that none was found; that it fell by 1 is a change like others.
TEST(ChangesOfAComparison, NotFoundIsNoChangeButMinusOneIs) {
  Results r = compared();
  LabelledArray& critical = r.add_metric("critical_n", {"normalizer", "length"}, "keys");
  critical.values = {5, -1, 4, 7, -1, -1};
  ASSERT_EQ(critical.none, -1);
  add_change("critical_n", "normalizer", r);
  const LabelledArray& change = *r.metric("critical_n_change");
  EXPECT_EQ(change.change_of, "critical_n");
  EXPECT_EQ(change.none, std::nullopt);
  EXPECT_EQ(change({1, 0}), -1);
  for (const std::size_t i : {1, 3, 4, 5}) EXPECT_TRUE(std::isnan(change.values[i])) << i;
  const ChangeList list = list_changes(r);
  ASSERT_EQ(list.unmeasured.size(), 1u);
  EXPECT_EQ(list.unmeasured[0].labels, (Labels{{"normalizer", "ssmax"}, {"length", "32"}}));
  EXPECT_EQ(list.unmeasured[0].none, -1) << "of the metric";
  EXPECT_EQ(list.unmeasured[0].change, -1);
  EXPECT_EQ(list.unmeasured_values, 1);
  // Two such files, whose changes alone are compared.
  const Results d = diff(r, r, {.metrics = {"critical_n_change"}});
  EXPECT_EQ(d.at("critical_n_change_change", {1, 0}), 0);
}

TEST(Changes, AreWrittenInTheOrderOfTheList) {
  Results d = differing({{1}, {1}, {1}}, {{3}, {9}, {5}}, 0.5);
  d.changes = list_changes(d);
  const auto json = to_json(d)["changes"];
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0]["labels"]["head"], "1");
  EXPECT_EQ(json[1]["labels"]["head"], "2");
  EXPECT_EQ(json[2]["labels"]["head"], "0");
  EXPECT_EQ(json[0]["after"], 9.0);
}

}  // namespace
}  // namespace headgauge
