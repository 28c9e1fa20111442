// The tool, model, text and timings of results.json: what is read is written again, byte for byte
// if headgauge wrote it, and without a loss whatever it is.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "headgauge/results.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kParts[] = {"tool", "model", "text", "timings"};

// All keys that headgauge writes, in their order, each with a value that it may have.
Json full_parts() {
  return Json::parse(R"({
    "tool": {"name": "headgauge", "version": "1.2.3", "simd": "AVX3", "threads": 2},
    "model": {"name": "", "family": "llama", "layers": 2, "heads": 4, "kv_heads": 2, "head_dim": 0,
              "parameters": 5000000000, "width": 64, "vocabulary": 100, "positions": 512,
              "trained_length": 256, "class": "Llama", "dtype": "float32", "causal": false,
              "scale": 0.125, "attention": "cross", "rope": "base 10000", "score_softcap": 50.5,
              "logit_softcap": 30.25, "config_sha256": "ab", "weights_sha256": "cd"},
    "text": {"names": ["a", ""], "sha256": [null, "ef"], "tokens": [3, 5000000000],
             "tokens_total": [null, 7], "first": [0, 9],
             "tasks": [{"task": "keys", "name": "k.jsonl", "sha256": "ab", "cases": 3,
                        "controls": 2, "shortest": 60, "tokens": 64}],
             "sinks": [{"position": 0, "heads": 2.5, "first_layer": 0, "last_layer": 1}]},
    "timings": {"forward_s": 0.5, "measure_s": 0.25, "sampling_s": 1e-7, "original_s": 2.5,
                "scans_s": 3.5, "total_s": 0.1, "converge_s": 4.5, "losses": 12}})");
}

Json file_with(const Json& parts) {
  Json json = to_json(Results{});
  json.update(parts);
  return json;
}

// What reading and writing makes of a file.
Json written_again(const Json& file) {
  return to_json(results_from_json(file, "file"));
}

TEST(Provenance, TheKeysThatAreThereAreWrittenAsTheyWereRead) {
  std::mt19937 draw(1);
  for (int k = 0; k < 200; ++k) {
    Json parts = full_parts();
    for (Json& part : parts) {
      const Json all = part;
      for (const auto& [key, value] : all.items()) {
        if (k > 0 && draw() % 2 == 0) part.erase(key);
      }
    }
    const Json file = file_with(parts), again = written_again(file);
    for (const char* part : kParts) ASSERT_EQ(again[part].dump(), file[part].dump());
  }
}

// Values of no record, under its own keys and others: only the order of keys may change, once.
TEST(Provenance, NothingIsLostOfWhatNoRecordHolds) {
  const Json values = Json::parse(
      R"([null, true, -1, 7, 1e300, "", "x", [], [null], [7], [[1]], {}, {"a": 1},
          ["x", 7], [{"position": -1, "heads": 1, "first_layer": 0, "last_layer": 0}]])");
  const auto unordered = [](const Json& json) { return nlohmann::json::parse(json.dump()); };
  std::mt19937 draw(2);
  for (int k = 0; k < 500; ++k) {
    Json parts = full_parts();
    for (Json& part : parts) {
      const auto any = std::next(part.begin(), static_cast<int>(draw() % part.size()));
      *any = values[draw() % values.size()];
      part["later"] = values[draw() % values.size()];
    }
    const Json file = file_with(parts), again = written_again(file);
    for (const char* part : kParts) ASSERT_EQ(unordered(again[part]), unordered(file[part]));
    ASSERT_EQ(written_again(again).dump(), again.dump());
  }
}

TEST(Provenance, TheFilesOfEveryCommandAreWrittenAsTheyWereRead) {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(testing::source_path("fuzz/corpus/results"))) {
    std::ifstream stream(entry.path());
    const Json file = Json::parse(stream);
    if (file["schema"] != "headgauge.results/3") continue;
    ++files;
    const Json again = written_again(file);
    for (const char* part : kParts) {
      EXPECT_EQ(again[part].dump(), file.value(part, Json::object()).dump()) << entry.path();
    }
  }
  EXPECT_GE(files, 8);
}

TEST(Provenance, MembersAreWhatTheFileSays) {
  const Results r = results_from_json(file_with(full_parts()), "file");
  EXPECT_EQ(r.tool.threads, 2);
  EXPECT_EQ(r.model.name, "");
  EXPECT_EQ(r.model.parameters, 5'000'000'000);
  EXPECT_EQ(r.model.causal, false);
  EXPECT_EQ(r.model.class_name, "Llama");
  EXPECT_EQ(r.text.sha256, (std::vector<std::optional<std::string>>{std::nullopt, "ef"}));
  EXPECT_EQ(r.text.tokens[1], 5'000'000'000);
  EXPECT_EQ(r.text.tasks, (std::vector<TaskRecord>{{"keys", "k.jsonl", "ab", 3, 2, 60, 64}}));
  EXPECT_EQ(r.text.sinks.value(), (std::vector<FoundSink>{{0, 2.5, 0, 1}}));
  EXPECT_EQ(r.timings.total, 0.1);
  EXPECT_EQ(r.timings.losses, 12);
  for (const Json& others : {r.tool.others, r.model.others, r.text.others}) {
    EXPECT_TRUE(others.empty()) << others;
  }
}

TEST(Provenance, AValueOfAnotherTypeCountsAsMissing) {
  Json parts = full_parts();
  parts["model"]["layers"] = 1e300;
  parts["model"]["name"] = 7;
  parts["model"]["rope"] = nullptr;
  parts["text"]["names"] = {"a", 7};
  parts["text"]["sinks"].push_back("none");
  const Results r = results_from_json(file_with(parts), "file");
  EXPECT_FALSE(r.model.layers || r.model.name);
  EXPECT_EQ(r.model.rope, "");
  EXPECT_TRUE(r.text.names.empty());
  EXPECT_EQ(r.text.sinks.value().size(), 1u);
  EXPECT_EQ(r.model.heads, 4);
}

TEST(Provenance, TimesOfTheSameStageAreAdded) {
  Timings sum{.forward = 1, .total = 2, .losses = 3};
  sum += {.forward = 0.5, .measure = 4, .total = 8, .losses = 5};
  EXPECT_EQ(sum, (Timings{.forward = 1.5, .total = 10, .losses = 3}));
}

}  // namespace
}  // namespace headgauge
