// What results.json says beyond numbers: the command, what metrics mean, what changed.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "faults.hpp"
#include "headgauge/diff.hpp"
#include "headgauge/results.hpp"
#include "results/header.hpp"
#include "results/made_results.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

TEST(ResultsMeaning, EveryCommandIsReadBack) {
  const std::pair<Command, const char*> commands[] = {
      {Command::scan, "scan"},
      {Command::compare, "compare"},
      {Command::converge, "converge"},
      {Command::simulate, "converge --synthetic"},
      {Command::reproduce_limits, "reproduce limits"},
      {Command::reproduce_tokens, "reproduce tokens"},
      {Command::diff, "diff"},
  };
  Results r = made_results();
  for (const auto& [command, text] : commands) {
    r.command = command;
    EXPECT_EQ(to_json(r)["command"], text);
    EXPECT_EQ(parse_results(results_text(r), "r").command, command) << text;
  }
  r.command = Command::unknown;
  EXPECT_FALSE(to_json(r).contains("command"));
  EXPECT_EQ(parse_results(results_text(r), "r").command, Command::unknown);
  for (const char* text : {"scam", ""}) {
    Json json = to_json(r);
    json["command"] = text;
    expect_part(
        thrown<BadInputError>([&] { results_from_json(json, "r"); }),
        "r: command: expected a command that writes results, found \"" + std::string(text) + "\"");
  }
}

TEST(ResultsMeaning, OfMetricsIsReadBack) {
  Results r = made_results();
  LabelledArray& found = r.add_metric("found", {"length"}, "keys");
  found.none = -2.5;
  r.add_metric("partner", {"layer", "head"}, "1").identifier = true;
  r.add_metric("other_name", {"length"}, "keys").change_of = "found";
  const Json metrics = to_json(r)["metrics"];
  EXPECT_EQ(metrics["found"]["none"], -2.5);
  EXPECT_EQ(metrics["partner"]["identifier"], true);
  EXPECT_EQ(metrics["other_name"]["change_of"], "found");
  for (const char* key : {"none", "identifier", "change_of"}) {
    EXPECT_FALSE(metrics["loss"].contains(key)) << key;
  }
  const Results back = parse_results(results_text(r), "r");
  EXPECT_EQ(back.metric("found")->none, -2.5);
  EXPECT_FALSE(back.metric("found")->identifier);
  EXPECT_TRUE(back.metric("partner")->identifier);
  EXPECT_EQ(back.metric("partner")->none, std::nullopt);
  EXPECT_EQ(back.metric("other_name")->change_of, "found");
  EXPECT_EQ(back.metric("found")->change_of, "");
}

// Schema 2 says it or means it not to be so: names decide nothing.
TEST(ResultsMeaning, NamesMeanNothingInSchema2) {
  Results r = made_results();
  LabelledArray& critical = r.add_metric("critical_n", {"length"}, "keys");
  EXPECT_EQ(critical.none, -1) << "the catalogue says so of a new metric";
  critical.none.reset();
  r.add_metric("critical_n_change", {"length"}, "keys");
  const Results back = parse_results(results_text(r), "r");
  EXPECT_EQ(back.metric("critical_n")->none, std::nullopt);
  EXPECT_EQ(back.metric("critical_n_change")->change_of, "");
}

TEST(ResultsMeaning, EveryKindOfSourceIsReadBack) {
  Results r = made_results();
  for (int k = 0; k <= static_cast<int>(FactSource::Kind::length_limit); ++k) {
    Fact fact{std::to_string(k), {static_cast<FactSource::Kind>(k), "", {}}, 0.5 * k, 1};
    if (k % 2 == 0) fact.source.name = "name" + std::to_string(k);
    if (k % 3 == 0) fact.source.cell = {k, 0};
    r.summary[0].facts.push_back(fact);
  }
  const Json facts = to_json(r)["summary"][0]["facts"];
  EXPECT_EQ(facts[2].dump(),
            R"({"text":"0","kind":"cell","name":"name0","cell":[0,0],"value":0.0,"scale":1.0})");
  EXPECT_EQ(facts[3].dump(), R"({"text":"1","kind":"standard_error","value":0.5,"scale":1.0})");
  EXPECT_EQ(results_text(parse_results(results_text(r), "r")), results_text(r));
  Json json = to_json(r);
  json["summary"][0]["facts"][3]["kind"] = "sell";
  expect_part(thrown<BadInputError>([&] { results_from_json(json, "r"); }),
              "r: summary[0]: facts[3]: kind: expected the kind of a number's source");
}

Change some_change(int k, double standard_error) {
  Change change;
  change.metric = "entropy_with_sinks";
  change.labels = {{"layer", std::to_string(k)}, {"length", "64"}};
  change.cell = {k, 1};
  change.before = 0.1 * k;
  change.after = 0.3 * k;
  change.change = 0.2 * k;
  change.standard_error = standard_error;
  if (!std::isnan(standard_error)) {
    change.errors = change.change / standard_error;
    change.degrees_of_freedom = 5.5;
    change.p = 0.01;
    change.adjusted_p = 0.03;
  }
  change.relative = 1.0 / (k + 3);
  change.values = k + 2;
  change.changed = k + 1;
  return change;
}

TEST(ResultsChanges, AreReadBackAlsoWhereNothingIsLeftToChance) {
  Results r = made_results();
  EXPECT_FALSE(to_json(r).contains("changes"));
  EXPECT_FALSE(parse_results(results_text(r), "r").changes);
  ChangeList list;
  list.level = 0.25;
  list.measured = {some_change(2, 0), some_change(5, 0.125)};
  list.unmeasured = {some_change(7, kUndefined)};
  list.unmeasured[0].after = kUndefined;
  list.values = 11;
  list.changed = 2;
  list.by_chance = 0.4375;
  list.unmeasured_values = 6;
  list.unmeasured_changed = 1;
  list.too_few = 4;
  list.found = 9000;
  r.changes = list;
  EXPECT_EQ(list.measured[0].errors, kInfinite);
  const Json json = to_json(r);
  EXPECT_TRUE(json["changes"][0]["errors"].is_null());
  EXPECT_EQ(json["changes"][0]["stderr"], 0.0);
  EXPECT_TRUE(json["changes"][2]["stderr"].is_null());
  EXPECT_EQ(
      json["changes"][1].dump(),
      R"({"metric":"entropy_with_sinks","labels":{"layer":"5","length":"64"},"cell":[5,1],"before":0.5,)"
      R"("after":1.5,"change":1.0,"stderr":0.125,"errors":8.0,"degrees_of_freedom":5.5,)"
      R"("p":0.01,"adjusted_p":0.03,"relative":0.125,"values":7,"changed":6})");
  EXPECT_EQ(json["change_counts"].dump(),
            R"({"level":0.25,"values":11,"changed":2,"by_chance":0.4375,"unmeasured_values":6,)"
            R"("unmeasured_changed":1,"too_few":4,"found":9000})");
  const Results back = parse_results(results_text(r), "r");
  EXPECT_EQ(results_text(back), results_text(r));
  EXPECT_EQ(back.changes->measured[0].errors, kInfinite);
}

TEST(ResultsChanges, AnErrorThatIsKnownExactlyIsReadBackAsSuch) {
  Results r;
  r.changes.emplace();
  r.changes->measured = {some_change(2, 0.125)};
  r.changes->measured[0].degrees_of_freedom = kInfinite;
  EXPECT_TRUE(to_json(r)["changes"][0]["degrees_of_freedom"].is_null());
  const auto back = parse_results(results_text(r), "r").changes;
  EXPECT_EQ(back->measured.at(0).degrees_of_freedom, kInfinite);
  EXPECT_EQ(results_text(parse_results(results_text(r), "r")), results_text(r));
}

TEST(ResultsChanges, WithoutAnErrorSayNothingOfIt) {
  Results before, after;
  before.set_coord("length", std::vector<double>{32});
  before.set_coord(kOutcome, std::vector<std::string>{kText});
  before.add_metric("loss", {kOutcome, "length"}, "nats").values = {5};
  after = before;
  after.metric("loss")->values = {6};
  Results both = diff(before, after);
  both.changes = list_changes(both);
  const Json change = to_json(both)["changes"].at(0);
  EXPECT_TRUE(change["stderr"].is_null());
  for (const char* key : {"degrees_of_freedom", "p", "adjusted_p"}) {
    EXPECT_FALSE(change.contains(key)) << key;
  }
}

TEST(ResultsChanges, ListTheFirstOfEitherKind) {
  Results r;
  r.changes.emplace();
  const int most = static_cast<int>(kMostChanges);
  for (int k = 0; k < most + 3; ++k) r.changes->measured.push_back(some_change(k, 0.5));
  for (int k = 0; k < most + 1; ++k) r.changes->unmeasured.push_back(some_change(k, kUndefined));
  const Json json = to_json(r);
  ASSERT_EQ(json["changes"].size(), 2 * kMostChanges);
  EXPECT_EQ(json["changes"][kMostChanges - 1]["labels"]["layer"], std::to_string(most - 1));
  EXPECT_EQ(json["changes"][kMostChanges]["labels"]["layer"], "0");
  EXPECT_TRUE(json["changes"][kMostChanges]["stderr"].is_null());
}

TEST(ResultsChanges, FaultsSayWhere) {
  Results r = made_results();
  r.changes.emplace();
  r.changes->measured = {some_change(2, 0.5)};
  const auto broken = [&](const char* pointer, const Json& value) {
    Json json = to_json(r);
    json[Json::json_pointer(pointer)] = value;
    return thrown<BadInputError>([&] { results_from_json(json, "r"); });
  };
  expect_part(broken("/changes/0/labels", 3), "r: changes[0]: labels: expected an object, found 3");
  expect_part(broken("/changes/0/labels/layer", 3),
              "r: changes[0]: labels: layer: expected a string, found 3");
  expect_part(broken("/changes/0/cell/1", "x"), "r: changes[0]: cell[1]: expected a whole number");
  expect_part(broken("/change_counts/values", 1.5),
              "r: change_counts: values: expected a whole number");
  Json json = to_json(r);
  json.erase("change_counts");
  expect_part(thrown<BadInputError>([&] { results_from_json(json, "r"); }),
              "r: expected a key \"change_counts\", found none");
}

}  // namespace
}  // namespace headgauge
