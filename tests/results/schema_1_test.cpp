// Files that say by names what schema 2 says in fields.
#include <gtest/gtest.h>

#include <cmath>

#include "headgauge/results.hpp"
#include "results/faults.hpp"

namespace headgauge {
namespace {

using Kind = FactSource::Kind;

// Two heads at two lengths under two normalizers, as headgauge 0.1 wrote it.
constexpr const char* kSchema1 = R"({
  "schema": "headgauge.results/1",
  "tool": {"name": "headgauge", "version": "0.1.0", "simd": "AVX2", "threads": 1},
  "model": {"name": "tiny", "family": "gpt2", "layers": 1, "heads": 2},
  "text": {"names": ["a.txt"]},
  "settings": {"command": "compare", "seed": 3},
  "partial": false,
  "layers_done": 1,
  "coords": {"layer": [0], "head": [0, 1], "length": [32, 64], "normalizer": ["original", "ssmax"]},
  "metrics": {
    "critical_n": {"dims": ["normalizer", "length"], "unit": "keys", "values": [[4, -1], [3, 5]]},
    "critical_n_change": {"dims": ["normalizer", "length"], "unit": "keys",
                          "values": [[0, null], [-1, null]], "stderr": [[0, null], [0.5, null]]},
    "top_overlap_partner": {"dims": ["layer", "head"], "unit": "1", "values": [[1, 0]]},
    "mine": {"dims": ["head"], "unit": "nats", "values": [1.5, 2.5], "rows": [8, 9]},
    "mine_change": {"dims": ["head"], "unit": "nats", "values": [0, -1]},
    "climate_change": {"dims": [], "unit": "1", "values": 1}
  },
  "flags": [],
  "summary": [{"text": "t", "heads": ["0.1"], "facts": [
    {"text": "-1", "metric": "critical_n", "cell": [0, 1], "value": -1, "scale": 1},
    {"text": "0.5", "metric": "stderr.critical_n_change", "cell": [1, 0], "value": 0.5, "scale": 1},
    {"text": "64", "metric": "coords.length", "cell": [1], "value": 64, "scale": 1},
    {"text": "3", "metric": "settings.seed", "cell": [], "value": 3, "scale": 1},
    {"text": "7", "metric": "flags.redundant", "cell": [], "value": 7, "scale": 1},
    {"text": "2", "metric": "heads", "cell": [], "value": 2, "scale": 1},
    {"text": "1", "metric": "heads.mine", "cell": [], "value": 1, "scale": 1},
    {"text": "90", "metric": "rule", "cell": [], "value": 0.9, "scale": 100},
    {"text": "12", "metric": "derived", "cell": [], "value": 12, "scale": 1},
    {"text": "20", "metric": "searched", "cell": [], "value": 20, "scale": 1},
    {"text": "3", "metric": "limit", "cell": [], "value": 3, "scale": 1}
  ]}],
  "notices": ["n"],
  "timings": {}
})";

TEST(Schema1, FactsSayInTheirNamesWhereTheyComeFrom) {
  const Results r = parse_results(kSchema1, "old.json");
  struct Expected {
    Kind kind;
    std::string name;
    std::vector<Index> cell;
  };
  const Expected expected[] = {
      {Kind::cell, "critical_n", {0, 1}},
      {Kind::standard_error, "critical_n_change", {1, 0}},
      {Kind::coordinate, "length", {1}},
      {Kind::setting, "seed", {}},
      {Kind::flags, "redundant", {}},
      {Kind::heads, "", {}},
      {Kind::heads_with, "mine", {}},
      {Kind::constant, "", {}},
      {Kind::derived, "", {}},
      {Kind::critical_range, "", {}},
      {Kind::length_limit, "", {}},
  };
  ASSERT_EQ(r.summary.size(), 1u);
  const std::vector<Fact>& facts = r.summary[0].facts;
  ASSERT_EQ(facts.size(), std::size(expected));
  for (std::size_t i = 0; i < facts.size(); ++i) {
    EXPECT_EQ(kind_text(facts[i].source.kind), kind_text(expected[i].kind)) << i;
    EXPECT_EQ(facts[i].source.name, expected[i].name) << i;
    EXPECT_EQ(facts[i].source.cell, expected[i].cell) << i;
  }
  EXPECT_EQ(facts[7].value, 0.9);
  EXPECT_EQ(facts[7].scale, 100);
  EXPECT_EQ(facts[1].text, "0.5");
}

TEST(Schema1, TheCatalogueSaysWhatMetricsMean) {
  const Results r = parse_results(kSchema1, "old.json");
  EXPECT_EQ(r.metric("critical_n")->none, -1);
  EXPECT_FALSE(r.metric("critical_n")->identifier);
  EXPECT_TRUE(r.metric("top_overlap_partner")->identifier);
  EXPECT_EQ(r.metric("top_overlap_partner")->none, std::nullopt);
  EXPECT_EQ(r.metric("critical_n_change")->change_of, "critical_n");
  EXPECT_EQ(r.metric("critical_n_change")->none, std::nullopt) << "-1 is a change";
  EXPECT_EQ(r.metric("mine")->none, std::nullopt);
  EXPECT_EQ(r.metric("mine")->change_of, "");
  EXPECT_EQ(r.metric("mine_change")->change_of, "mine") << "metrics of users have changes too";
  EXPECT_EQ(r.metric("climate_change")->change_of, "") << "there is no climate";
}

TEST(Schema1, NumbersAreRead) {
  const Results r = parse_results(kSchema1, "old.json");
  EXPECT_EQ(r.metric("critical_n")->values, (std::vector<double>{4, -1, 3, 5}));
  EXPECT_EQ(r.metric("critical_n_change")->at({1, 0}).standard_error, 0.5);
  EXPECT_TRUE(std::isnan(r.at("critical_n_change", {0, 1})));
  EXPECT_EQ(r.metric("mine")->rows, (std::vector<std::int64_t>{8, 9}));
  EXPECT_EQ(r.notices, std::vector<std::string>{"n"});
  EXPECT_EQ(r.layers_done, 1);
}

TEST(Schema1, TheCommandStandsInTheSettings) {
  const auto command_of = [](const nlohmann::ordered_json& settings) {
    auto json = nlohmann::ordered_json::parse(kSchema1);
    json["settings"] = settings;
    const Results r = results_from_json(json, "old.json");
    EXPECT_FALSE(r.settings.contains("command")) << "it has a field of its own";
    return r.command;
  };
  EXPECT_EQ(command_of({{"command", "scan"}}), Command::scan);
  EXPECT_EQ(command_of({{"command", "compare"}}), Command::compare);
  EXPECT_EQ(command_of({{"command", "diff"}}), Command::diff);
  EXPECT_EQ(command_of({{"command", "converge"}}), Command::converge);
  EXPECT_EQ(command_of({{"command", "converge"}, {"synthetic", ""}}), Command::converge);
  EXPECT_EQ(command_of({{"command", "converge"}, {"synthetic", "gaussian"}}), Command::simulate);
  EXPECT_EQ(command_of({{"command", "reproduce"}, {"experiment", "limits"}}),
            Command::reproduce_limits);
  EXPECT_EQ(command_of({{"command", "reproduce"}, {"experiment", "tokens"}}),
            Command::reproduce_tokens);
  EXPECT_EQ(command_of({{"command", "other"}}), Command::unknown);
  EXPECT_EQ(command_of({{"command", 7}}), Command::unknown);
  EXPECT_EQ(command_of({{"seed", 3}}), Command::unknown);
  EXPECT_EQ(parse_results(kSchema1, "old.json").settings.dump(), R"({"seed":3})");
}

TEST(Schema1, IsWrittenAsSchema2AndReadBackTheSame) {
  const Results r = parse_results(kSchema1, "old.json");
  const nlohmann::ordered_json json = to_json(r);
  EXPECT_EQ(json["schema"], "headgauge.results/2");
  EXPECT_EQ(json["command"], "compare");
  EXPECT_EQ(json["metrics"]["critical_n"]["none"], -1);
  EXPECT_EQ(json["metrics"]["top_overlap_partner"]["identifier"], true);
  EXPECT_EQ(json["metrics"]["mine_change"]["change_of"], "mine");
  EXPECT_FALSE(json["metrics"]["mine"].contains("change_of"));
  EXPECT_FALSE(json["metrics"]["mine"].contains("none"));
  EXPECT_FALSE(json["metrics"]["mine"].contains("identifier"));
  EXPECT_EQ(to_json(results_from_json(json, "new.json")), json);
}

TEST(Schema1, AFactWithoutItsCellIsAFault) {
  auto json = nlohmann::ordered_json::parse(kSchema1);
  json["summary"][0]["facts"][3].erase("cell");
  expect_part(thrown<BadInputError>([&] { results_from_json(json, "old.json"); }),
              "old.json: summary[0]: facts[3]: expected a key \"cell\", found none");
}

}  // namespace
}  // namespace headgauge
