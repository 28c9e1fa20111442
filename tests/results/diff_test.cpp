#include "headgauge/diff.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "faults.hpp"
#include "headgauge/cells.hpp"

namespace headgauge {
namespace {

using Numbers = std::vector<double>;
using Names = std::vector<std::string>;

// A run whose values say where they are: 1000 layer + 100 head + length + `shift`.
double label_sum(double layer, double head, double length) {
  return 1000 * layer + 100 * head + length;
}

Results run_of(const Numbers& layers, const Numbers& heads, const Numbers& lengths,
               double shift = 0, double error = 0.5) {
  Results r;
  r.tool.name = "headgauge";
  r.model.name = "tiny";
  r.text.names = {"a.txt"};
  r.command = Command::scan;
  r.settings = {{"seed", 0}};
  r.set_coord("layer", layers);
  r.set_coord("head", heads);
  r.set_coord("length", lengths);
  LabelledArray& m = r.add_metric("measured", {"layer", "head", "length"}, "keys");
  m.values.clear();
  for (const double layer : layers) {
    for (const double head : heads) {
      for (const double length : lengths)
        m.values.push_back(label_sum(layer, head, length) + shift);
    }
  }
  m.standard_error.assign(m.values.size(), error);
  m.rows.assign(m.values.size(), 7);
  return r;
}

// The cell of a metric at these labels.
double cell(const Results& r, const std::string& name, const Numbers& labels,
            const std::string& run = "") {
  const LabelledArray& m = *r.metric(name);
  std::vector<Index> at;
  std::size_t next = 0;
  for (const std::string& dim : m.dim_names()) {
    if (dim == "run") {
      at.push_back(run == "old" ? 0 : 1);
      continue;
    }
    const auto all = r.coord_numbers(dim);
    const auto it = std::ranges::find(all, labels[next++]);
    EXPECT_NE(it, all.end()) << name << " " << dim;
    at.push_back(it - all.begin());
  }
  return m.at(at).value;
}

bool noted(const Results& r, const std::string& part) {
  return std::ranges::any_of(r.notices,
                             [&](const auto& n) { return n.find(part) != std::string::npos; });
}

TEST(Diff, EndsOfIntervalsAreNotCompared) {
  Results old = run_of({0}, {0, 1}, {8}), now = run_of({0}, {0, 1}, {8}, 1);
  for (Results* run : {&old, &now}) {
    LabelledArray& forecast =
        run->add_metric("effective_tokens_forecast_with_sinks", {"layer", "head"}, "keys")
            .with_intervals();
    forecast.values = {3, 4};
    forecast.low = {1, 2};
    forecast.high = {5, 6};
  }
  now.metric("effective_tokens_forecast_with_sinks")->low = {2, 3};
  const Results found = diff(old, now, {});
  const LabelledArray& forecast = found.require_metric("effective_tokens_forecast_with_sinks");
  EXPECT_EQ(forecast.sel("run", "old").low, (Numbers{1, 2}));
  EXPECT_EQ(forecast.sel("run", "new").low, (Numbers{2, 3}));
  EXPECT_EQ(forecast.sel("run", "new").high, (Numbers{5, 6}));
  const LabelledArray& change = found.require_metric("effective_tokens_forecast_with_sinks_change");
  EXPECT_EQ(change.values, (Numbers{0, 0}));
  EXPECT_TRUE(change.low.empty() && change.high.empty());
}

TEST(Diff, TimesAreNoChangesUnlessTheyAreAskedFor) {
  const auto timed = [](double seconds) {
    Results r = run_of({0}, {0}, {32});
    r.add_metric("cost_seconds", {"length"}, "seconds").values = {seconds};
    return r;
  };
  const Results plain = diff(timed(1), timed(2));
  EXPECT_EQ(plain.metric("cost_seconds"), nullptr);
  EXPECT_TRUE(noted(plain, "measured times always differ"));
  DiffOptions options;
  options.metrics = {"cost_seconds"};
  EXPECT_NE(diff(timed(1), timed(2), options).metric("cost_seconds_change"), nullptr);
}

// Where the longest length differs, what is of it alone is left out; random tokens have none.
TEST(Diff, RandomTokensAreComparedWhateverTheLengths) {
  const auto sweep = [](double longest) {
    Results r = run_of({0}, {0}, {32, longest});
    r.set_coord("gaussian_scale", Numbers{1, 2});
    r.add_metric("gaussian_horizon", {"gaussian_scale"}, "1").values = {0.1, longest};
    r.add_metric("slope", {"layer", "head"}, "1").values = {longest};
    r.add_metric("model_horizon", {"layer", "head"}, "1").values = {longest};
    return r;
  };
  const Results d = diff(sweep(64), sweep(128));
  EXPECT_NE(d.metric("gaussian_horizon_change"), nullptr);
  EXPECT_EQ(d.metric("slope"), nullptr);
  EXPECT_EQ(d.metric("model_horizon"), nullptr) << "of a model, at its longest length";
}

TEST(Diff, CellsAreMatchedByTheirLabelsNotByTheirPlaces) {
  const Results before = run_of({0, 1, 2}, {0, 1, 2, 3}, {32, 64, 128});
  const Results after = run_of({2, 1, 5}, {3, 7, 1}, {64, 128, 256}, 2);
  const Results d = diff(before, after);
  EXPECT_EQ(std::get<Numbers>(d.coord("layer")->labels()), (Numbers{2, 1}));
  EXPECT_EQ(std::get<Numbers>(d.coord("head")->labels()), (Numbers{3, 1}));
  EXPECT_EQ(std::get<Numbers>(d.coord("length")->labels()), (Numbers{64, 128}));
  EXPECT_EQ(std::get<Names>(d.coord("run")->labels()), (Names{"old", "new"}));
  EXPECT_EQ(d.metric("measured")->dim_names(), (Names{"layer", "head", "run", "length"}));
  EXPECT_EQ(d.metric("measured_change")->dim_names(), (Names{"layer", "head", "length"}));
  for (const double layer : {1, 2}) {
    for (const double head : {1, 3}) {
      for (const double length : {64, 128}) {
        EXPECT_EQ(cell(d, "measured", {layer, head, length}, "old"),
                  label_sum(layer, head, length));
        EXPECT_EQ(cell(d, "measured", {layer, head, length}, "new"),
                  label_sum(layer, head, length) + 2);
        EXPECT_EQ(cell(d, "measured_change", {layer, head, length}), 2);
      }
    }
  }
  EXPECT_EQ(d.metric("measured")->rows, std::vector<std::int64_t>(16, 7));
  EXPECT_TRUE(noted(d, "only in the old file, and left out: layer 0; head 0, 2; length 32"));
  EXPECT_TRUE(noted(d, "only in the new file, and left out: layer 5; head 7; length 256"));
}

TEST(Diff, LabelsThatRoundingMovedAreTheSame) {
  Results before, after;
  before.set_coord("temperature", Numbers{0.1 * (1 + 1e-12), 1 - 1e-12, 10});
  after.set_coord("temperature", Numbers{0.1, 1, 10 * (1 + 1e-6)});
  before.add_metric("m", {"temperature"}, "1").values = {1, 2, 3};
  after.add_metric("m", {"temperature"}, "1").values = {5, 7, 9};
  EXPECT_EQ(diff(before, after).metric("m_change")->values, (Numbers{4, 5}));
}

TEST(Diff, ErrorsAreCombinedAsOfIndependentRuns) {
  const Results d = diff(run_of({0}, {0}, {32}, 0, 3), run_of({0}, {0}, {32}, 1, 4));
  EXPECT_EQ(d.metric("measured")->standard_error, (Numbers{3, 4}));
  EXPECT_EQ(d.metric("measured_change")->standard_error, Numbers{5});
  Results bare = run_of({0}, {0}, {32});
  bare.metric("measured")->standard_error.clear();
  for (const Results& one :
       {diff(bare, run_of({0}, {0}, {32})), diff(run_of({0}, {0}, {32}), bare)}) {
    EXPECT_TRUE(one.metric("measured_change")->standard_error.empty());
  }
}

TEST(Diff, SaysWhatWasCompared) {
  Results before = run_of({0}, {0}, {32});
  Results after = before;
  before.model.name = "gpt2";
  before.settings["seed"] = 1;
  after.text.names = {"b.txt", "c.txt"};
  const Results d = diff(before, after, {.old_file = "x/results.json", .new_file = "y.json"});
  EXPECT_EQ(d.command, Command::diff);
  EXPECT_EQ(d.settings["old"].dump(),
            R"({"file":"x/results.json","command":"scan","model":"gpt2","text":["a.txt"],)"
            R"("settings":{"seed":1}})");
  EXPECT_EQ(d.settings["new"].dump(),
            R"({"file":"y.json","command":"scan","model":"tiny","text":["b.txt","c.txt"],)"
            R"("settings":{"seed":0}})");
  EXPECT_EQ(d.model, after.model);
  EXPECT_EQ(d.text, after.text);
}

TEST(Diff, WhatDescribesHeadsFollowsThem) {
  Results before = run_of({0, 1, 2}, {0, 1}, {32});
  Results after = before;
  after.set_coord("layer_type", Names{"a", "b", "c"});
  after.set_coord("kv_head", Numbers{0, 0});
  before.set_coord("layer", Numbers{7, 2, 1});
  EXPECT_EQ(std::get<Names>(diff(before, after).coord("layer_type")->labels()), (Names{"b", "c"}));
  EXPECT_EQ(std::get<Numbers>(diff(before, after).coord("kv_head")->labels()), (Numbers{0, 0}));
}

TEST(Diff, MetricsThatCannotBeComparedAreLeftOutAndSaid) {
  Results before = run_of({0}, {0}, {32});
  Results after = run_of({0}, {0}, {32});
  before.add_metric("gone", {"layer", "head"}, "1");
  before.add_metric("gone_by_position", {"layer", "head"}, "1");
  after.add_metric("come", {"layer", "head"}, "1");
  before.add_metric("turned", {"layer", "head"}, "1");
  after.add_metric("turned", {"layer"}, "1");
  before.add_metric("scaled", {"layer"}, "nats");
  after.add_metric("scaled", {"layer"}, "bits");
  before.set_coord("top_n", Numbers{5});
  after.set_coord("top_n", Numbers{10});
  before.add_metric("apart", {"top_n"}, "1");
  after.add_metric("apart", {"top_n"}, "1");
  const Results d = diff(before, after);
  EXPECT_EQ(d.metrics.size(), 2u);
  EXPECT_TRUE(noted(d, "metrics that only the old file has are left out: gone"));
  EXPECT_FALSE(noted(d, "gone_by_position")) << "its metric is named";
  EXPECT_TRUE(noted(d, "metrics that only the new file has are left out: come"));
  EXPECT_TRUE(noted(d, "dims or units differ: turned, scaled"));
  EXPECT_TRUE(noted(d, "have no labels in common: apart"));
  EXPECT_EQ(d.coord("top_n"), nullptr);
}

TEST(Diff, WhatIsOfTheLongestLengthNeedsTheSame) {
  Results before = run_of({0}, {0}, {32, 64});
  before.add_metric("slope", {"layer", "head"}, "1").values = {1};
  before.flags.push_back({"sinks", 0, 0, 64, 1, 0.95, "s", "a", {}});
  Results after = run_of({0}, {0}, {32, 64});
  after.add_metric("slope", {"layer", "head"}, "1").values = {3};
  EXPECT_EQ(diff(before, after).metric("slope_change")->values, Numbers{2});
  after = run_of({0}, {0}, {32, 128});
  after.add_metric("slope", {"layer", "head"}, "1").values = {3};
  const Results d = diff(before, after);
  EXPECT_EQ(d.metric("slope"), nullptr);
  EXPECT_TRUE(noted(d,
                    "left out: they are measured at the longest length only, 64 in the old file "
                    "and 128 in the new: slope"));
  EXPECT_TRUE(noted(d, "flags are not compared"));
  EXPECT_TRUE(d.flags.empty());
}

TEST(Diff, PositionsAreBinsSinceTheOneBefore) {
  Results before = run_of({0}, {0}, {32});
  Results after = before;
  before.set_coord("position", Numbers{16, 32, 64});
  after.set_coord("position", Numbers{16, 24, 32, 64});
  before.add_metric("measured_by_position", {"position"}, "1").values = {1, 2, 3};
  after.add_metric("measured_by_position", {"position"}, "1").values = {5, 6, 7, 8};
  const Results d = diff(before, after);
  EXPECT_EQ(std::get<Numbers>(d.coord("position")->labels()), (Numbers{16, 64}));
  EXPECT_EQ(d.metric("measured_by_position")->values, (Numbers{1, 3, 5, 8}));
  EXPECT_EQ(d.metric("measured_by_position_change"), nullptr);
  const Results back = diff(after, before);
  EXPECT_EQ(std::get<Numbers>(back.coord("position")->labels()), (Numbers{16, 64}));
  EXPECT_EQ(back.metric("measured_by_position")->values, (Numbers{5, 8, 1, 3}));
  const Results asked = diff(before, after, {.metrics = {"measured_by_position"}});
  EXPECT_EQ(asked.metric("measured_by_position_change")->values, (Numbers{4, 5}));
  EXPECT_EQ(asked.metric("measured"), nullptr);
}

TEST(Diff, ChangesThatFollowFromOthersGiveWay) {
  Results run = run_of({0}, {0}, {32});
  run.set_coord("normalizer", Names{"original", "ssmax"});
  run.set_coord(kOutcome, Names{kText});
  run.add_metric("loss", {"normalizer", kOutcome, "length"}, "nats").values = {5, 6};
  run.add_metric("loss_change", {"normalizer", kOutcome, "length"}, "nats").values = {0, 1};
  run.metric("loss_change")->change_of = "loss";
  run.add_metric("output_change", {"normalizer"}, "1").values = {0, 0.5};
  Results after = run;
  after.metric("loss")->values = {5, 8};
  after.metric("loss_change")->values = {0, 3};
  const Results d = diff(run, after);
  EXPECT_EQ(d.metric("loss")->dim_names(), (Names{"run", "normalizer", kOutcome, "length"}));
  EXPECT_EQ(d.metric("loss_change")->dim_names(), (Names{"normalizer", kOutcome, "length"}));
  EXPECT_EQ(d.metric("loss_change")->values, (Numbers{0, 2}));
  EXPECT_NE(d.metric("output_change_change"), nullptr) << "there is no metric output";
  EXPECT_TRUE(noted(d, "follow from the metrics that they are named after: loss_change"));
  const Results asked = diff(run, after, {.metrics = {"loss_change"}});
  EXPECT_EQ(asked.metric("loss_change_change")->values, (Numbers{0, 2}));
}

TEST(Diff, UndefinedValuesHaveNoChangeAndAreCounted) {
  Results before = run_of({0}, {0, 1, 2, 3}, {32});
  Results after = before;
  before.metric("measured")->values = {1, kUndefined, kUndefined, 4};
  after.metric("measured")->values = {kUndefined, 2, kUndefined, 5};
  const Results d = diff(before, after);
  const Numbers& change = d.metric("measured_change")->values;
  EXPECT_TRUE(std::isnan(change[0]) && std::isnan(change[1]) && std::isnan(change[2]));
  EXPECT_EQ(change[3], 1);
  EXPECT_TRUE(noted(d, "undefined only in the new file, so without a change: measured (1)"));
  EXPECT_TRUE(noted(d, "undefined only in the old file, so without a change: measured (1)"));
}

TEST(Diff, CriticalNThatIsFoundInOneAloneHasNoChange) {
  Results before = run_of({0}, {0, 1, 2, 3}, {32});
  Results after = before;
  before.add_metric("critical_n_head", {"layer", "head", "length"}, "keys").values = {5, -1, -1, 9};
  after.add_metric("critical_n_head", {"layer", "head", "length"}, "keys").values = {-1, 7, -1, 4};
  const Results d = diff(before, after);
  const Numbers& change = d.metric("critical_n_head_change")->values;
  EXPECT_TRUE(std::isnan(change[0]) && std::isnan(change[1]) && std::isnan(change[2]));
  EXPECT_EQ(change[3], -5);
  EXPECT_TRUE(noted(d, "an N was found only in the old file: critical_n_head (1)"));
  EXPECT_TRUE(noted(d, "an N was found only in the new file: critical_n_head (1)"));
}

TEST(Diff, HeadsChosenLeaveTheOthersUndefined) {
  Results run = run_of({0, 1}, {0, 1}, {32});
  run.set_coord(kOutcome, Names{kText});
  run.add_metric("loss", {kOutcome, "length"}, "nats").values = {5};
  const Results d = diff(run, run, {.heads = "1.*"});
  EXPECT_EQ(d.metric("loss"), nullptr);
  EXPECT_EQ(cell(d, "measured", {1, 0, 32}, "old"), label_sum(1, 0, 32));
  EXPECT_TRUE(std::isnan(cell(d, "measured", {0, 1, 32}, "new")));
  EXPECT_EQ(d.metric("measured")->rows[0], 0);
  const auto fault_of = [&](const DiffOptions& options) {
    return thrown<UsageError>([&] { diff(run, run, options); });
  };
  expect_part(fault_of({.heads = "2.0"}), "DiffOptions::heads: expected numbers from 0 to 1");
  expect_part(fault_of({.metrics = {"loss"}, .heads = "1.0"}), "metrics of single heads");
  expect_part(fault_of({.metrics = {"lost"}}), "they share measured, loss");
  // A head within the range that is not there.
  const Results gap = run_of({0, 2}, {0}, {32});
  expect_part(thrown<UsageError>([&] { diff(gap, gap, {.heads = "0.0,1.0"}); }), "\"1.0\"");
}

TEST(Diff, NothingInCommonIsAnErrorThatSaysWhatEachHolds) {
  const auto fault_of = [](const Results& a, const Results& b) {
    return thrown<BadInputError>([&] { diff(a, b); });
  };
  Results other = run_of({0}, {0}, {32});
  other.metrics.front().first = "rate";
  expect_part(fault_of(run_of({0}, {0}, {32}), other), "metrics measured in the old file");
  expect_part(fault_of(run_of({0}, {0}, {32}), other), "metrics rate in the new");
  const std::string apart = fault_of(run_of({0}, {0}, {32}), run_of({0}, {0}, {64}));
  expect_part(apart, "lengths 32, ");
  expect_part(apart, "lengths 64, ");
  // Curves over positions alone are nothing in common.
  Results short_run = run_of({0}, {0}, {32}), long_run = run_of({0}, {0}, {64});
  for (Results* run : {&short_run, &long_run}) {
    run->set_coord("position", Numbers{16, 32});
    run->add_metric("measured_by_position", {"position"}, "1").values = {1, 2};
  }
  expect_part(fault_of(short_run, long_run), "whose lengths overlap");
  const Results twice = diff(run_of({0}, {0}, {32}), run_of({0}, {0}, {32}));
  expect_part(fault_of(twice, twice), "those of a diff");
  Results named = run_of({0}, {0}, {32});
  named.metrics.clear();
  named.set_coord("layer", Names{"zero"});
  expect_part(fault_of(named, named), "coords: layer: expected numbers");
  // Names from files stay on one line.
  other.metrics.front().first = "two\nlines";
  expect_part(fault_of(run_of({0}, {0}, {32}), other), "two\\x0alines");
}

TEST(Diff, FlagsGainedAndLost) {
  const auto flagged = [](const std::vector<Flag>& flags) {
    Results r = run_of({0, 1}, {0, 1}, {32});
    LabelledArray& m = r.add_metric("sink_weight", {"layer", "head", "length"}, "1");
    m.values = {0.5, 0.5, 0.5, kUndefined};
    r.flags = flags;
    return r;
  };
  const auto flag = [](const char* name, int layer, int head) {
    return Flag{name, layer, head, 32, 0.99, 0.95, "s", "a"};
  };
  const Results before = flagged({flag("sinks", 0, 0), flag("sinks", 0, 1)});
  Results after = flagged(
      {flag("sinks", 0, 1), flag("dormant", 1, 0), flag("sinks", 1, 1), flag("wide", 0, 0)});
  const Results d = diff(before, after);
  ASSERT_EQ(d.flags.size(), 2u) << "1.1 was measured in neither, wide was not";
  EXPECT_EQ(d.flags[0].name + d.flags[0].change, "sinkslost");
  EXPECT_EQ(d.flags[1].name + d.flags[1].change, "dormantgained");
  EXPECT_EQ(d.flags[1].value, 0.99);
  EXPECT_TRUE(diff(before, before).flags.empty());
  EXPECT_TRUE(diff(before, after, {.metrics = {"measured"}}).flags.empty());
  EXPECT_EQ(parse_results(results_text(d), "t").flags[0].change, "lost");
  // One head that only one of the runs measured.
  after.metric("sink_weight")->values[2] = 0.5;
  Results partly = before;
  partly.metric("sink_weight")->values[2] = kUndefined;
  EXPECT_EQ(diff(partly, after).flags.size(), 1u);
}

TEST(Diff, InterruptedRunsAndNoticesAreToldOf) {
  Results before = run_of({0}, {0}, {32}), after = before;
  before.partial = true;
  before.notices = {"mine", "ours"};
  after.notices = {"ours"};
  before.text.sha256 = after.text.sha256 = {"ab"};
  const Results d = diff(before, after);
  EXPECT_TRUE(d.partial);
  EXPECT_TRUE(noted(d, "the old run was interrupted"));
  EXPECT_FALSE(noted(d, "the new run was interrupted"));
  EXPECT_TRUE(noted(d, "old file: mine"));
  EXPECT_EQ(std::ranges::count(d.notices, "ours"), 1);
  EXPECT_TRUE(noted(d, "both runs use the same text"));
  after.text.sha256 = {"cd"};
  EXPECT_FALSE(noted(diff(before, after), "same text"));
}

TEST(Diff, SaysThatTheModelsAreOfAnotherKind) {
  const Results before = run_of({0}, {0}, {32});
  Results after = before;
  EXPECT_FALSE(noted(diff(before, after), "another kind of model"));
  after.model.name = "another";
  EXPECT_FALSE(noted(diff(before, after), "another kind of model"));
  after.model.vocabulary = 7;
  EXPECT_TRUE(noted(diff(before, after), "the new results are of another kind of model"));
}

TEST(Diff, SaysWhatErrorsLeaveOut) {
  Results before = run_of({0}, {0}, {32}), after = before;
  const char* const scatter = "so they omit the variation between texts";
  before.text.sha256 = {"ab"};
  after.text.sha256 = {"cd"};
  EXPECT_TRUE(noted(diff(before, after), scatter));
  before.text.sha256 = {"a", "b", "c", "d"};
  EXPECT_TRUE(noted(diff(before, after), scatter)) << "of one text in one of the two";
  after.text.sha256 = {"e", "f", "g", "h"};
  EXPECT_FALSE(noted(diff(before, after), scatter));
  const char* const unknown = "does not say how many batches";
  EXPECT_TRUE(noted(diff(before, after), unknown)) << "as files of before";
  for (Results* run : {&before, &after}) {
    for (auto& [name, metric] : run->metrics) {
      if (!metric.standard_error.empty()) metric.degrees_of_freedom.assign(metric.size(), 3);
    }
  }
  EXPECT_FALSE(noted(diff(before, after), unknown));
}

TEST(Diff, MetricsWithoutDims) {
  Results before, after;
  before.add_metric("bytes", {}, "bytes").values = {12};
  after.add_metric("bytes", {}, "bytes").values = {10};
  const Results d = diff(before, after);
  EXPECT_EQ(d.metric("bytes")->values, (Numbers{12, 10}));
  EXPECT_EQ(d.metric("bytes_change")->values, Numbers{-2});
}

}  // namespace
}  // namespace headgauge
