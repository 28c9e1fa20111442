#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "faults.hpp"
#include "headgauge/results.hpp"
#include "results/made_results.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// What a call throws, as "TYPE: message".
template <class Call>
std::string any_fault(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    expect_no_part(error.what(), "\n");
    const char* kind = error.kind() == ErrorKind::bad_input     ? "bad input: "
                       : error.kind() == ErrorKind::unsupported ? "unsupported: "
                                                                : "resource: ";
    return std::string(kind) + error.what();
  }
  return "nothing";
}

// Equal texts are equal bits of every number: EveryDoubleSurvives.
void expect_same(const Results& a, const Results& b) {
  EXPECT_EQ(results_text(a), results_text(b));
}

TEST(ResultsJson, HasTheShapeThatTheFormatPromises) {
  const Json json = to_json(made_results());
  EXPECT_EQ(json["schema"], "headgauge.results/3");
  EXPECT_EQ(json["coords"]["length"].dump(), "[32,64]");
  EXPECT_EQ(json["coords"]["layer_type"].size(), 2u);
  const Json& entropy = json["metrics"]["entropy_with_sinks"];
  EXPECT_EQ(entropy["dims"].dump(), R"(["layer","head","length"])");
  EXPECT_EQ(entropy["unit"], "nats");
  EXPECT_EQ(entropy["values"][1][2][0], 1.0);  // flat cell (1 * 3 + 2) * 2
  EXPECT_TRUE(entropy["stderr"][0][0][0].is_null());
  EXPECT_EQ(entropy["stderr"][0][1][1], 1.0 / 3.0);
  EXPECT_EQ(entropy["rows"][1][2][1], 32);
  for (const char* part : {"stderr", "low", "high", "p", "rows"}) {
    EXPECT_FALSE(json["metrics"]["loss"].contains(part)) << part;
  }
  const Json& closest = json["metrics"]["closest_n"];
  EXPECT_EQ(closest.value("low", Json()).dump(), "[null,2.0]");
  EXPECT_EQ(closest.value("high", Json()).dump(), "[null,4.5]");
  EXPECT_FALSE(closest.contains("p"));
  EXPECT_EQ(json["metrics"]["critical_ks_d"].value("p", Json()).dump(), "[null,0.0625]");
  EXPECT_FALSE(json["metrics"]["critical_ks_d"].contains("low"));
  EXPECT_EQ(json["metrics"]["cache_bytes"]["values"], 12345.0);  // no dims: a bare number
  EXPECT_EQ(json["flags"][0]["name"], "sinks");
  EXPECT_EQ(json["partial"], false);
}

TEST(ResultsJson, TextAndTreeAreTheSameDocument) {
  const Results r = made_results();
  EXPECT_EQ(Json::parse(results_text(r)), to_json(r));
  EXPECT_EQ(Json::parse(results_text(Results{})), to_json(Results{}));
}

TEST(ResultsJson, ReadsBackBitForBit) {
  Results r = made_results();
  r.partial = true;
  r.layers_done = 1;
  expect_same(parse_results(results_text(r), "t"), r);
  expect_same(parse_results(results_text(Results{}), "t"), Results{});
}

// The committed file is what test_schema.py checks. To renew it after a change of the format, run
// with HEADGAUGE_WRITE_MADE set to its path.
TEST(ResultsJson, IsTheCommittedFile) {
  if (const char* path = std::getenv("HEADGAUGE_WRITE_MADE")) write_results(made_results(), path);
  std::ifstream file(HEADGAUGE_SOURCE_DIR "/tests/results/data/made.json", std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), results_text(made_results()));
}

TEST(ResultsJson, DegreesOfFreedomAreThereWhereAnyAreKnown) {
  Results r = made_results();
  LabelledArray& entropy = *r.metric("entropy_with_sinks");
  entropy.with_standard_errors();
  EXPECT_FALSE(to_json(r)["metrics"]["entropy_with_sinks"].contains("degrees_of_freedom"));
  entropy.degrees_of_freedom[3] = 4.5;
  const Results read = parse_results(results_text(r), "r");
  expect_same(read, r);
  EXPECT_EQ(read.metric("entropy_with_sinks")->degrees_of_freedom[3], 4.5);
  EXPECT_TRUE(std::isnan(read.metric("entropy_with_sinks")->degrees_of_freedom[0]));
}

TEST(ResultsJson, EveryPartOfAnEstimateIsReadBack) {
  const Estimate all{.value = 2.5,
                     .standard_error = 0.1,
                     .rows = 9,
                     .degrees_of_freedom = 8,
                     .low = 1.75,
                     .high = 1.0 / 3.0,
                     .p = 1e-300};
  Results r;
  r.set_coord("length", std::vector<double>{32, 64});
  LabelledArray& m = r.add_metric("m", {"length"}, "1");
  m.with_standard_errors().with_intervals().with_p().with_rows().set({1}, all);
  const Results back = parse_results(results_text(r), "r");
  expect_same(back, r);
  const Estimate read = back.metric("m")->at({1});
  EXPECT_EQ(read.low, all.low);
  EXPECT_EQ(read.high, all.high);
  EXPECT_EQ(read.p, all.p);
  EXPECT_EQ(back.metric("m")->low.size(), 2u);
  EXPECT_TRUE(std::isnan(back.metric("m")->at({0}).p));
}

TEST(ResultsJson, AFactMayBeAnEndOfAnIntervalOrAP) {
  using Kind = FactSource::Kind;
  for (const auto& [kind, name] :
       {std::pair{Kind::low, "low"}, {Kind::high, "high"}, {Kind::p, "p"}}) {
    Results r = made_results();
    r.summary = {{"It is 2.", {{"2", {kind, "closest_n", {1}}, 2}}, {}}};
    EXPECT_EQ(to_json(r)["summary"][0]["facts"][0]["kind"], name);
    expect_same(parse_results(results_text(r), "r"), r);
  }
}

TEST(ResultsJson, AnAnswerKeepsItsVerdict) {
  Results r = made_results();
  r.summary = {{"It costs less.", {}, {}}};
  EXPECT_FALSE(to_json(r)["summary"][0].contains("verdict"));
  r.summary[0].lead = true;
  r.summary[0].verdict = "good";
  EXPECT_EQ(to_json(r)["summary"][0]["verdict"], "good");
  const Results back = parse_results(results_text(r), "r");
  EXPECT_TRUE(back.summary[0].lead);
  EXPECT_EQ(back.summary[0].verdict, "good");
}

TEST(ResultsJson, EveryDoubleSurvives) {
  Results r;
  r.set_coord("length", std::vector<double>(5000));
  LabelledArray& m = r.add_metric("m", {"length"}, "1");
  std::mt19937_64 bits(1);
  for (double& value : m.values) {
    do {
      const std::uint64_t word = bits();
      std::memcpy(&value, &word, sizeof value);
    } while (!std::isfinite(value));
  }
  m.values[0] = 5e-324;
  m.values[1] = -0.0;
  m.values[2] = std::numeric_limits<double>::max();
  m.values[3] = 0.1;
  const auto back = parse_results(results_text(r), "t").metric("m")->values;
  ASSERT_EQ(back.size(), 5000u);
  EXPECT_EQ(std::memcmp(back.data(), m.values.data(), 5000 * sizeof(double)), 0);
  EXPECT_NE(results_text(r).find(",0.1,"), std::string::npos) << "not the shortest form";
}

TEST(ResultsJson, InfinityIsWrittenAsUndefined) {
  Results r = made_results();
  r.metric("loss")->values[0] = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(to_json(r)["metrics"]["loss"]["values"][0][0].is_null());
  EXPECT_TRUE(std::isnan(parse_results(results_text(r), "t").at("loss", {0, 0})));
}

TEST(ResultsJson, ExamplesAreThereOnlyWhereThereAreAny) {
  Results r = made_results();
  EXPECT_FALSE(to_json(r).contains("examples"));
  EXPECT_FALSE(to_json(r).contains("passages"));
  r.examples = {{1, 2, "far", 0.5, 0, 70, 0.75, 61, {3, 9}, {0.5, -0.25}, {}},
                {1, 2, "change", 0.25, 0, 80, 1, {}, {4}, {0}, {0.125}}};
  r.passages = {{0, 62, {"</script>", "\x01\n", "\xE2\x80\xAE"}}, {1, 0, {" b"}}};
  const std::string text = results_text(r);
  const auto json = nlohmann::ordered_json::parse(text);
  EXPECT_EQ(
      json["examples"].dump(),
      R"([{"layer":1,"head":2,"why":"far","value":0.5,"document":0,"query":70,"covered":0.75,)"
      R"("others":61,"keys":[3,9],"weights":[0.5,-0.25]},{"layer":1,"head":2,"why":"change",)"
      R"("value":0.25,"document":0,"query":80,"covered":1.0,"keys":[4],"weights":[0.0],)"
      R"("originals":[0.125]}])");
  EXPECT_EQ(json["passages"][1].dump(), R"({"document":1,"first":0,"tokens":[" b"]})");
  expect_same(parse_results(text, "examples"), r);
}

TEST(ResultsJson, TokenLossesAreThereOnlyWhereThereAreAny) {
  Results r = made_results();
  EXPECT_FALSE(to_json(r).contains("token_losses"));
  r.token_losses = {{0, 5, {0.25, 3.5}, ""}, {2, 500, {0.5, 0.125}, "passkey"}};
  r.passages = {{0, 4, {" a", "b"}}};
  const std::string text = results_text(r);
  const auto json = nlohmann::ordered_json::parse(text);
  EXPECT_FALSE(json.contains("examples"));
  EXPECT_EQ(json["token_losses"].dump(),
            R"([{"document":0,"position":5,"losses":[0.25,3.5]},{"document":2,"position":500,)"
            R"("losses":[0.5,0.125],"task":"passkey"}])");
  expect_same(parse_results(text, "token_losses"), r);
}

TEST(ResultsJson, ALossThatIsInfiniteIsReadAsUndefined) {
  Results r = made_results();
  r.token_losses = {{0, 5, {0.25, std::numeric_limits<double>::infinity()}, ""}};
  const std::string text = results_text(r);
  EXPECT_TRUE(nlohmann::ordered_json::parse(text)["token_losses"][0]["losses"][1].is_null());
  const Results back = parse_results(text, "token_losses");
  EXPECT_TRUE(std::isnan(back.token_losses[0].losses[1]));
}

TEST(ResultsJson, ClaimsAreThereOnlyWhereThereAreAny) {
  Results r = made_results();
  EXPECT_FALSE(to_json(r).contains("claims"));
  for (const Verdict verdict : {Verdict::holds, Verdict::does_not_hold, Verdict::cannot_tell}) {
    Claim claim;
    claim.name = "a_claim";
    claim.paper = "A";
    claim.figure = "Fig. 2a";
    claim.statement = "So it is.";
    claim.test = "It is looked at.";
    claim.measured = "It was 3.";
    claim.verdict = verdict;
    claim.facts = {{"three", 3.25}, {"nothing", kUndefined}};
    r.claims.push_back(claim);
  }
  const std::string text = results_text(r);
  EXPECT_EQ(Json::parse(text)["claims"][1].dump(),
            R"({"name":"a_claim","paper":"A","figure":"Fig. 2a","statement":"So it is.",)"
            R"("reading":"","test":"It is looked at.","measured":"It was 3.",)"
            R"("verdict":"does not hold","facts":[{"name":"three","value":3.25},{"name":"nothing",)"
            R"("value":null}]})");
  expect_same(parse_results(text, "claims"), r);

  auto json = to_json(r);
  json["claims"][1]["verdict"] = "perhaps";
  expect_part(any_fault([&] { results_from_json(json, "f"); }), "f: claims[1]: verdict");
}

TEST(ResultsJson, UnknownKeysAreIgnored) {
  Json json = to_json(made_results());
  json["new_part"] = {{"a", 1}};
  json["metrics"]["entropy_with_sinks"]["quantiles"] = {1, 2};
  json["flags"][0]["colour"] = "red";
  expect_same(results_from_json(json, "t"), made_results());
}

TEST(ResultsJson, RefusesOtherSchemas) {
  Json json = to_json(made_results());
  const auto read = [&] { return any_fault([&] { results_from_json(json, "r.json"); }); };
  for (const char* later : {"headgauge.results/4", "headgauge.results/10.1"}) {
    json["schema"] = later;
    expect_part(read(), "unsupported: r.json: schema: expected \"headgauge.results/3\", found");
    expect_part(read(), "read it with a newer headgauge");
  }
  json["schema"] = "headgauge.results/0";
  expect_part(read(), "bad input");
  json["schema"] = "othertool/1";
  expect_part(read(), "bad input: r.json: schema: expected \"headgauge.results/3\", found \"oth");
  json["schema"] = "headgauge.results/one";
  expect_part(read(), "bad input");
  json["schema"] = "headgauge.results/3.4";
  EXPECT_EQ(read(), "nothing") << "a minor version is no obstacle";
  json.erase("schema");
  expect_part(read(), "expected a key \"schema\"");
  json = Json::array();
  expect_part(read(), "expected an object, found a list of 0");
}

// Whoever has results of an earlier schema reads how to make them again.
TEST(ResultsJson, AnEarlierSchemaIsRefusedWithTheCommand) {
  Json json = to_json(made_results());
  const auto refusal = [&] {
    return thrown<UnsupportedError>([&] { results_from_json(json, "r.json"); });
  };
  for (const char* earlier :
       {"headgauge.results/2", "headgauge.results/2.1", "headgauge.results/1"}) {
    json["schema"] = earlier;
    expect_part(refusal(), "r.json: schema: expected \"headgauge.results/3\", found");
    expect_part(refusal(), "make the results again: headgauge scan tiny --text FILE ");
  }
  json["command"] = "compare";
  json["settings"]["text"] = {"a text.txt", "b.txt"};
  json["settings"]["pattern"] = {"window:size=8"};
  expect_part(refusal(),
              "again: headgauge compare tiny --text 'a text.txt' b.txt"
              " --pattern window:size=8 --out DIR");
  // What the file does not say stays a word.
  json.erase("command");
  json.erase("model");
  expect_part(refusal(), "again: headgauge COMMAND MODEL TEXT ");
  json.erase("settings");
  expect_part(refusal(), "again: headgauge COMMAND MODEL TEXT ");
}

TEST(ResultsJson, NamesThePlaceOfAWrongValue) {
  const Json good = to_json(made_results());
  const auto broken = [&](const std::string& pointer, const Json& value) {
    Json json = good;
    json[Json::json_pointer(pointer)] = value;
    return any_fault([&] { results_from_json(json, "r"); });
  };
  expect_part(broken("/metrics/entropy_with_sinks/values/1/2", Json{1.0}),
              "r: metrics: entropy_with_sinks: values[1][2]: expected a list of 2 (length), found "
              "a list of 1");
  expect_part(broken("/metrics/entropy_with_sinks/values/1/2/0", "x"),
              "expected a number or null, found \"x\"");
  expect_part(broken("/metrics/entropy_with_sinks/rows/0/0/0", 1.5),
              "expected a whole number, found 1.5");
  expect_part(broken("/metrics/entropy_with_sinks/dims/1", "nose"),
              "names of coords, found \"nose\"");
  expect_part(broken("/metrics/entropy_with_sinks/dims/1", "layer"), "\"layer\" twice");
  expect_part(broken("/metrics/loss", 3), "metrics: loss: expected an object, found 3");
  expect_part(broken("/coords/length/1", Json()), "coords: length[1]: expected a number");
  expect_part(broken("/coords/layer_type/1", 4), "coords: layer_type[1]: expected a string");
  for (const std::string dim : {"layer", "head", "length"}) {
    expect_part(broken("/coords/" + dim + "/0", 1e300),
                "coords: " + dim + "[0]: expected a number below 2^31, found 1e+300");
  }
  expect_part(broken("/flags/0/layer", 1e99), "flags[0]: layer: expected a whole number");
  expect_part(broken("/partial", 1), "partial: expected true or false");
  for (const std::string part : {"settings", "text"}) {
    expect_part(broken("/" + part, 1), part + ": expected an object");
  }
}

TEST(ResultsJson, EveryTruncationIsBadInput) {
  const std::string text = results_text(made_results());
  const std::size_t end = text.rfind('}');
  for (std::size_t size = 0; size < end; ++size) {
    const std::string got =
        any_fault([&] { parse_results(std::string_view(text).substr(0, size), "r"); });
    ASSERT_EQ(got.rfind("bad input: r: expected a JSON object, found ", 0), 0u)
        << size << ": " << got;
    ASSERT_NE(got.find(" byte "), std::string::npos) << got;
  }
}

TEST(ResultsJson, SaysTheByteOfAFault) {
  expect_part(any_fault([] { parse_results("{\"schema\": ?}", "r"); }), "byte 11");
  expect_part(any_fault([] { parse_results("{\"schema\": \"a\"", "r"); }),
              "end of the file at byte 14");
  expect_part(any_fault([] { parse_results("{\"a\": 1e999}", "r"); }), "float64");
  expect_part(any_fault([] {
                parse_results(
                    "\x7f"
                    "ELF",
                    "r");
              }),
              "byte 0");
}

// What is deep would end the program where it is taken apart, wherever it stands.
TEST(ResultsJson, DepthHasALimitInEveryPart) {
  const std::string deep = std::string(80000, '[') + std::string(80000, ']');
  for (const char* part : {"settings", "tool", "model", "text", "timings", "coords", "new"}) {
    const std::string text =
        fmt::format(R"({{"schema": "headgauge.results/3", "{}": {{"a": {}}}}})", part, deep);
    expect_part(any_fault([&] { parse_results(text, "r"); }), "nested deeper than 64");
  }
}

TEST(ResultsJson, ChangedBytesNeverCrash) {
  const std::string good = results_text(made_results());
  std::mt19937 draw(3);
  int refused = 0;
  for (int k = 0; k < 4000; ++k) {
    std::string text = good;
    const int changes = 1 + static_cast<int>(draw() % 3);
    for (int c = 0; c < changes; ++c) {
      const char alphabet[] = "{}[]\",:0123456789eE+-.ntfau\\ \x80";
      text[draw() % text.size()] = alphabet[draw() % (sizeof alphabet - 1)];
    }
    refused += any_fault([&] { parse_results(text, "r"); }) != "nothing";
  }
  EXPECT_GT(refused, 1000);
}

TEST(ResultsJson, NamesThatAreNotUtf8AreWrittenAllTheSame) {
  Results r = made_results();
  r.text.names = {"caf\xe9.txt"};
  EXPECT_TRUE(Json::accept(results_text(r)));
}

class ResultsFile : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder_{"results"};
};

TEST_F(ResultsFile, FailureLeavesTheOldFileAndNothingElse) {
  const std::string path = folder_ / "results.json";
  write_results(made_results(), path);
  EXPECT_THROW(write_results(made_results(), folder_ / "results.json/below.json"), ResourceError);
  expect_same(read_results(path), made_results());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(ResultsFile, MissingFileAndFolderAreToldApart) {
  expect_part(any_fault([&] { read_results(folder_ / "none.json"); }), "bad input");
  expect_part(any_fault([&] { read_results(folder_.path()); }), "bad input");
  expect_part(any_fault([&] { write_results(Results{}, folder_ / "no/r.json"); }), "resource");
}

}  // namespace
}  // namespace headgauge
