// Files in which a name means what another one means now.
#include <gtest/gtest.h>

#include "headgauge/results.hpp"

namespace headgauge {
namespace {

// As headgauge wrote it when random vectors were the null: a comparison of two rules.
nlohmann::ordered_json older() {
  return nlohmann::ordered_json::parse(R"({
    "schema": "headgauge.results/2",
    "command": "compare",
    "tool": {"name": "headgauge", "version": "0.1.0"},
    "model": {}, "text": {}, "settings": {}, "partial": false, "layers_done": 1,
    "coords": {"layer": [0], "head": [0, 1]},
    "metrics": {
      "separability": {"dims": ["layer", "head"], "unit": "1", "values": [[0.7, 0.8]]},
      "separability_null": {"dims": ["layer", "head"], "unit": "1", "values": [[0.5, 0.6]]},
      "separability_null_by_position": {"dims": ["head"], "unit": "1", "values": [0.5, 0.6]},
      "model_separability_null": {"dims": ["head"], "unit": "1", "values": [0.5, 0.6]},
      "separability_null_change": {"dims": ["head"], "unit": "1", "values": [0.1, 0.2],
                                   "change_of": "separability_null"}
    },
    "flags": [],
    "summary": [{"text": "t", "heads": [], "facts": [
      {"text": "0.5", "kind": "cell", "name": "separability_null", "cell": [0, 0],
       "value": 0.5, "scale": 1}]}],
    "notices": [], "timings": {}
  })");
}

TEST(Renamed, TheOlderNullIsTheSphere) {
  const Results r = results_from_json(older(), "old.json");
  for (const auto& [name, metric] : r.metrics) {
    EXPECT_EQ(name.find("separability_null"), std::string::npos) << name;
  }
  EXPECT_EQ(r.at("separability_sphere", {0, 1}), 0.6);
  EXPECT_NE(r.metric("separability_sphere_by_position"), nullptr);
  EXPECT_NE(r.metric("model_separability_sphere"), nullptr);
  EXPECT_EQ(r.require_metric("separability_sphere_change").change_of, "separability_sphere");
  EXPECT_EQ(r.summary.at(0).facts.at(0).source.name, "separability_sphere");
  EXPECT_EQ(r.at("separability", {0, 0}), 0.7);
}

TEST(Renamed, ANullBesideTheSphereOrTheExcessKeepsItsName) {
  for (const char* since : {"separability_sphere", "separability_excess"}) {
    auto json = older();
    json["metrics"][since] = json["metrics"]["separability"];
    const Results r = results_from_json(json, "new.json");
    EXPECT_EQ(r.at("separability_null", {0, 1}), 0.6);
    EXPECT_EQ(r.at(since, {0, 1}), 0.8);
    EXPECT_EQ(r.summary.at(0).facts.at(0).source.name, "separability_null");
  }
}

// As headgauge wrote it when critical N was that of an unpaired test.
TEST(Renamed, TheOlderCriticalNIsThePapers) {
  auto json = older();
  json["metrics"]["critical_n"] = {{"dims", {"head"}}, {"unit", "keys"}, {"values", {4, 5}}};
  json["metrics"]["critical_ks_p"] = json["metrics"]["critical_n"];
  json["metrics"]["critical_fraction"] = json["metrics"]["critical_n"];
  json["metrics"]["critical_n_head"] = json["metrics"]["critical_n"];
  json["metrics"]["critical_fraction_head"] = json["metrics"]["critical_n"];
  json["summary"][0]["facts"][0]["name"] = "critical_fraction";
  const Results r = results_from_json(json, "old.json");
  EXPECT_EQ(r.at("critical_n_paper", {1}), 5);
  for (const char* gone :
       {"critical_n", "critical_fraction", "critical_n_head", "critical_fraction_head"}) {
    EXPECT_EQ(r.metric(gone), nullptr) << gone;
  }
  EXPECT_EQ(r.summary.at(0).facts.at(0).source.kind, FactSource::Kind::derived);
  EXPECT_EQ(r.notices.size(), 1u);
  // What was read so and written is no older file any more.
  const std::string written = results_text(r);
  EXPECT_EQ(results_text(parse_results(written, "written")), written);
  json["metrics"]["closest_n"] = json["metrics"]["critical_n"];
  const Results newer = results_from_json(json, "new.json");
  EXPECT_EQ(newer.at("critical_n", {1}), 5);
  EXPECT_NE(newer.metric("critical_n_head"), nullptr);
  EXPECT_TRUE(newer.notices.empty());
}

// Found by the fuzzer: its p without its N.
TEST(Renamed, NoCriticalNIsNoneOfThePaper) {
  auto json = older();
  json["metrics"]["critical_ks_p"] = json["metrics"]["model_separability_null"];
  const Results r = results_from_json(json, "old.json");
  EXPECT_TRUE(r.notices.empty());
  EXPECT_EQ(results_text(parse_results(results_text(r), "written")), results_text(r));
}

}  // namespace
}  // namespace headgauge
