// Summaries of results that somebody else wrote or edited: a value that is missing, or of another
// type or shape than the commands write, is left out or refused. Found by fuzz/results.hpp.
#include <gtest/gtest.h>

#include <fstream>

#include "faults.hpp"
#include "findings/scanned_results.hpp"
#include "headgauge/plan.hpp"
#include "headgauge/scan.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// A seed of the fuzz target.
Json seed(const std::string& name) {
  std::ifstream file(testing::source_path("fuzz/corpus/results/" + name));
  return Json::parse(file);
}

std::vector<SummaryLine> summary_of(const Json& json) {
  return summarize(results_from_json(json, "input"));
}

std::string text_of(const std::vector<SummaryLine>& lines) {
  std::string text;
  for (const SummaryLine& line : lines) text += line.text + "\n";
  return text;
}

// Numbers of rows that heads are judged by, in place of those of a short text.
void put_rows(Json& rows) {
  if (rows.is_number()) rows = 64;
  if (rows.is_array()) std::ranges::for_each(rows, put_rows);
}

TEST(ForeignResults, SettingsOfAnotherTypeCountAsMissing) {
  Json scan = seed("scan.json");
  for (auto& [name, metric] : scan["metrics"].items()) {
    if (metric.contains("rows")) put_rows(metric["rows"]);
  }
  const std::string plain = text_of(summary_of(scan));
  EXPECT_FALSE(plain.empty());
  scan["model"]["causal"] = "yes";
  scan["settings"]["critical_max"] = 1e300;
  EXPECT_EQ(text_of(summary_of(scan)), plain);

  Json converge = seed("converge.json");
  const std::string most_recent = text_of(summary_of(converge));
  converge["model"]["causal"] = Json::array();
  EXPECT_EQ(text_of(summary_of(converge)), most_recent);

  Json validation = seed("validation.json");
  const std::string predicts = text_of(summary_of(validation));
  validation["settings"]["level"] = "0.05";
  EXPECT_EQ(text_of(summary_of(validation)), predicts);
}

TEST(ForeignResults, SinksThatAreNoneCountAsMissing) {
  Json scan = to_json(scanned_results());
  const std::string plain = text_of(summary_of(scan));
  expect_no_part(plain, "goes to");
  const Json sink = {{"position", 23}, {"heads", 2.5}, {"first_layer", 0}, {"last_layer", 1}};
  const auto with = [&](const Json& sinks) {
    scan["text"]["sinks"] = sinks;
    return text_of(summary_of(scan));
  };
  const auto changed = [&](const char* key, const Json& value) {
    Json other = sink;
    other[key] = value;
    return other;
  };
  const std::string said = with(Json::array({sink}));
  expect_part(said, "goes to token 23 in 2 heads of layers 0 to 1");
  for (const Json& other :
       {Json("0"), Json(0), Json(nullptr), Json::object(), sink, Json{{"a", sink}}}) {
    EXPECT_EQ(with(other), plain) << other;
  }
  std::vector<Json> none{Json(0), Json(nullptr), Json::array({sink}), Json::object()};
  for (const char* key : {"position", "heads", "first_layer", "last_layer"}) {
    for (const Json& value : {Json("0"), Json(nullptr), Json(true), Json(-1)}) {
      none.push_back(changed(key, value));
    }
    none.push_back(sink);
    none.back().erase(key);
  }
  for (const char* key : {"position", "first_layer", "last_layer"}) {
    for (const Json& value : {Json(1.5), Json(1e300), Json(10000000000)}) {
      none.push_back(changed(key, value));
    }
  }
  none.push_back(changed("heads", 0));
  none.push_back(changed("first_layer", 2));
  for (const Json& other : none) {
    EXPECT_EQ(with(Json::array({other})), plain) << other;
    EXPECT_EQ(with(Json::array({other, sink})), said) << other;
  }
  // Past the text, in more heads than there are, or again and again.
  for (const Json& other : {changed("position", 2147483647), changed("heads", 1e300), sink}) {
    EXPECT_NO_THROW(with(Json(10000, other))) << other;
  }
}

TEST(ForeignResults, ComparisonsDoNotTrustTheirSettings) {
  Json compare = seed("compare.json");
  for (const Json& other : {Json(7), Json(nullptr), Json({{"ssmax:s=0.43", 1}}), Json("s")}) {
    compare["settings"]["layers"] = other;
    compare["settings"]["confirm_length"] = other;
    compare["settings"]["confirm_text"] = {{"names", {other}}};
    EXPECT_NO_THROW(summary_of(compare)) << other;
  }
}

TEST(ForeignResults, ASimulationWithoutItsRates) {
  Json simulation = seed("simulation.json");
  simulation["metrics"].erase("rate_mean");
  expect_no_part(text_of(summary_of(simulation)), "mean");
  simulation["metrics"].erase("rate_predicted");
  EXPECT_TRUE(summary_of(simulation).empty());
}

TEST(ForeignResults, APlanOfNoHeads) {
  Json plan = seed("plan.json");
  plan["coords"]["length"] = {96};
  for (const Json& kv_heads : {Json(0), Json(-1), Json(5), Json("2")}) {
    plan["model"]["kv_heads"] = kv_heads;
    expect_part(text_of(summarize_plan(results_from_json(plan, "input"))),
                "The plan \"0.5\" keeps ");
  }
  plan["metrics"]["planned_change"]["values"][0][0][0] = nullptr;
  EXPECT_THROW(summarize_plan(results_from_json(plan, "input")), UsageError);
}

}  // namespace
}  // namespace headgauge
