// Records of a training monitor as results over steps.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "faults.hpp"
#include "headgauge/base.hpp"
#include "headgauge/results.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

const std::string kBegin = R"({"schema":"headgauge.monitor/2","model":"m","family":"gpt2","step":)";

std::string record(int step, const std::string& metrics, const std::string& rest = "") {
  return kBegin + std::to_string(step) + R"(,"metrics":{)" + metrics + "}" + rest + "}\n";
}

std::string error_of(const std::string& text) {
  return thrown<BadInputError>([&] { parse_monitor(text, "records"); });
}

TEST(MonitorRecords, AreMetricsOverLayerHeadAndStep) {
  const Results results =
      parse_monitor(record(10, R"("entropy_with_sinks":[[1,2],[3,null]])") +
                        record(30, R"("entropy_with_sinks":[[5,6],[7,8]],"own":[[0,0],[0,1]])") +
                        record(20, R"("entropy_with_sinks":[[9,9],[9,9]])"),
                    "records");
  EXPECT_EQ(command_text(results.command), "monitor");
  const auto steps = results.coord_numbers("step");
  EXPECT_EQ(std::vector<double>(steps.begin(), steps.end()), (std::vector<double>{10, 20, 30}));
  const LabelledArray& entropy = results.require_metric("entropy_with_sinks");
  EXPECT_EQ(entropy.dim_names(), (std::vector<std::string>{"layer", "head", "step"}));
  EXPECT_EQ(entropy.unit, "nats");
  EXPECT_EQ(entropy({1, 0, 0}), 3.0);
  EXPECT_TRUE(std::isnan(entropy({1, 1, 0})));
  EXPECT_EQ(entropy({0, 1, 2}), 6.0);
  EXPECT_TRUE(std::isnan(results.at("own", {0, 0, 1})));
  EXPECT_EQ(results.at("own", {1, 1, 2}), 1.0);
  EXPECT_EQ(results.model.name, "m");
  EXPECT_EQ(results.model.layers, 2);
}

TEST(MonitorRecords, TheLastOfAStepCountsAndATornLineIsLeftOut) {
  const std::string whole =
      record(1, R"("entropy_with_sinks":[[1]])") + record(1, R"("entropy_with_sinks":[[2]])");
  EXPECT_EQ(parse_monitor(whole, "records").at("entropy_with_sinks", {0, 0, 0}), 2.0);
  const Results torn = parse_monitor(whole + kBegin + "2,\"metr", "records");
  EXPECT_EQ(torn.coord_size("step"), 1);
  expect_part(torn.notices.back(), "cut off");
  EXPECT_NE(error_of(kBegin + "2,\"metr"), "nothing");
  expect_part(error_of(whole + kBegin + "2,\"metr\n" + whole), "line 3");
}

TEST(MonitorRecords, WarningsNameTheirHeads) {
  const std::string entropy = R"("entropy_with_sinks":[[1,2],[3,4]])";
  const Results quiet = parse_monitor(record(1, entropy), "records");
  ASSERT_EQ(quiet.summary.size(), 2U);
  EXPECT_TRUE(quiet.summary[1].heads.empty());
  const Results warned = parse_monitor(
      record(5, entropy,
             R"(,"warnings":["step 4: dispersion began in head 1.0: x","in head 9.9: y","none"])"),
      "records");
  ASSERT_EQ(warned.summary.size(), 4U);
  EXPECT_EQ(warned.summary[1].heads, (std::vector<std::string>{"1.0"}));
  EXPECT_TRUE(warned.summary[2].heads.empty());
  EXPECT_TRUE(warned.summary[3].heads.empty());
}

TEST(MonitorRecords, SayWhatIsWrong) {
  const std::string entropy = R"("entropy_with_sinks":[[1,2],[3,4]])";
  expect_part(error_of(""), "at least one record");
  expect_part(error_of("{}\n"), "headgauge.monitor/2");
  expect_part(error_of(kBegin + "-1,\"metrics\":{}}\n"), "step");
  expect_part(error_of(kBegin + "1}\n"), "metrics");
  expect_part(error_of(record(1, "")), "metrics");
  for (const char* values :
       {"3", "[]", "[3]", "[[]]", "[[\"a\"]]", "[[1,2],[3]]", "[[1],[2],{}]"}) {
    EXPECT_NE(error_of(record(1, std::string("\"entropy_with_sinks\":") + values)), "nothing")
        << values;
  }
  expect_part(error_of(record(1, entropy) + record(2, R"("entropy_with_sinks":[[1,2]])")),
              "line 2");
  expect_part(error_of(record(1, entropy, R"(,"warnings":3)")), "warnings");
}

// Many metrics of one record each would be a table of mostly nothing.
TEST(MonitorRecords, TakeNoMoreMemoryThanTheFile) {
  std::string sparse;
  for (int step = 0; step < 300; ++step) {
    sparse += record(step, "\"m" + std::to_string(step) + "\":[[" + std::string(30, '1') + "]]");
  }
  expect_part(error_of(sparse), "same metrics");
}

// A shape that the first row alone has would be a table of 9 10^10 numbers.
TEST(MonitorRecords, LookAtAllSizesBeforeTheyTakeMemory) {
  std::string rows = "[[0";
  for (int k = 1; k < 300'000; ++k) rows += ",0";
  rows += "]";
  for (int k = 1; k < 300'000; ++k) rows += ",0";
  expect_part(error_of(record(1, "\"entropy_with_sinks\":" + rows + "]")),
              "heads as in the first record");
}

TEST(MonitorRecords, AreWrittenAsTheyReadBack) {
  const Results results =
      parse_monitor(record(10, R"("entropy_with_sinks":[[1,2],[3,null]],"own":[[0,0],[0,1]])") +
                        record(20, R"("entropy_with_sinks":[[5,6],[7,8]],"own":[[0,0],[0,1]])"),
                    "records");
  EXPECT_EQ(results_text(parse_results(results_text(results), "written")), results_text(results));
}

TEST(MonitorRecords, AreReadByTheirEnding) {
  const testing::TemporaryFolder folder("monitor");
  const std::string path = folder / "monitor.jsonl";
  write_atomically(path, record(1, R"("entropy_with_sinks":[[1]])"));
  EXPECT_EQ(command_text(read_results(path).command), "monitor");
}

}  // namespace
}  // namespace headgauge
