#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "faults.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/plan.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using Table = std::vector<std::vector<std::string>>;

class ExportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    source_.family = "llama";
    source_.layers = 2;
    source_.heads = 4;
    source_.kv_heads = 2;
    source_.head_dim = 8;
    source_.element_bytes = 2;
    source_.windows = {0, 32};
    plan_.model = {.name = "tiny", .layers = 2, .heads = 4, .kv_heads = 2};
    plan_.context = 100;
    plan_.heads = {2, 2};
  }
  PlanExport write(PlanFormat format) {
    return export_plan(plan_, format, source_, folder_ / "out");
  }
  std::string text(const std::string& name) const {
    std::ifstream file(folder_ / ("out/" + name));
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  nlohmann::json json(const std::string& name) const { return nlohmann::json::parse(text(name)); }
  Table table(const std::string& name) const {
    Table rows;
    std::istringstream lines(text(name));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream cells(line);
      rows.emplace_back();
      for (std::string cell; std::getline(cells, cell, '\t');) rows.back().push_back(cell);
    }
    return rows;
  }
  // What is thrown names the head and the tool, and nothing is written.
  void expect_refused(PlanFormat format, const std::string& head, const std::string& what) {
    const std::string said = thrown<UnsupportedError>([&] { write(format); });
    expect_part(said, "key-value head " + head + ":");
    expect_part(said, what);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  }

  testing::TemporaryFolder folder_{"export"};
  SourceInfo source_;
  AttentionPlan plan_;
};

TEST_F(ExportTest, DuoOfOneSize) {
  plan_.heads(0, 1) = plan_.heads(1, 0) = {"sinks:sinks=4,window=60", ""};
  const PlanExport done = write(PlanFormat::duo);
  EXPECT_EQ(table("duo/full_attention_heads.tsv"), (Table{{"1", "0"}, {"0", "1"}}));
  const auto config = json("duo/config.json");
  EXPECT_EQ(config["sink_size"], 4);
  EXPECT_EQ(config["recent_size"], 60);
  EXPECT_EQ(config["sparsity"], 0.5);
  EXPECT_EQ(config["model_name"], "tiny");
  EXPECT_TRUE(done.notices.empty());
  EXPECT_EQ(done.files.size(), 5u);
  for (const std::string& file : done.files) EXPECT_TRUE(std::filesystem::exists(file)) << file;
}

TEST_F(ExportTest, DuoOfSeveralSizes) {
  plan_.heads(0, 0) = {"sinks:sinks=2,window=60", ""};
  plan_.heads(0, 1) = {"window:size=70", ""};
  plan_.heads(1, 1) = {"window:size=9,global=5", ""};
  const PlanExport done = write(PlanFormat::duo);
  EXPECT_EQ(table("duo/full_attention_heads.tsv"), (Table{{"0", "0"}, {"1", "0"}}));
  EXPECT_EQ(table("duo/sink_sizes.tsv"), (Table{{"2", "0"}, {"-1", "5"}}));
  EXPECT_EQ(table("duo/recent_sizes.tsv"), (Table{{"60", "70"}, {"-1", "9"}}));
  const auto config = json("duo/config.json");
  EXPECT_EQ(config["sink_size"], 5);
  EXPECT_EQ(config["recent_size"], 70);
  EXPECT_EQ(config["sparsity"], 0.75);
  ASSERT_EQ(done.notices.size(), 1u);
  EXPECT_NE(done.notices[0].find("3 sizes"), std::string::npos) << done.notices[0];
}

TEST_F(ExportTest, DuoSaysWhatItReallyKeeps) {
  plan_.heads(0, 0) = {"sinks:sinks=2,window=6", ""};
  plan_.heads(0, 1) = {"sinks:sinks=5,window=45", ""};
  const PlanExport done = write(PlanFormat::duo);
  ASSERT_EQ(done.shares.size(), 1u);
  // Heads of layer 0 keep 50 of 100 keys each, those of layer 1 their window of 32.
  EXPECT_EQ(done.shares[0], "duo keeps 62.1 % of the cache, the plan 46.2 %");
  plan_.measured = {{"measured", {{"cache_share", 0.462}, {"allowed_share", 0.5}}}};
  std::filesystem::remove_all(folder_ / "out");
  expect_part(thrown<UnsupportedError>([&] { write(PlanFormat::duo); }),
              "expected at most 50 % of the cache, found 62.1 %");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  // The same of the plan that was written and read again.
  write_plan(plan_, folder_ / "plan.json");
  const AttentionPlan read = read_plan(folder_ / "plan.json");
  EXPECT_EQ(read.measured, plan_.measured);
  EXPECT_THROW(export_plan(read, PlanFormat::duo, source_, folder_ / "out"), UnsupportedError);
  plan_.measured["measured"]["allowed_share"] = 0.63;
  EXPECT_EQ(write(PlanFormat::duo).shares.size(), 1u);
  plan_.measured = {{"measured", "a lot"}};  // written by somebody else
  EXPECT_EQ(write(PlanFormat::duo).shares.size(), 1u);
  // The largest sizes together leave out no key.
  plan_.heads(0, 0) = {"sinks:sinks=60,window=6", ""};
  plan_.heads(0, 1) = {"sinks:sinks=2,window=45", ""};
  EXPECT_THROW(write(PlanFormat::duo), UnsupportedError);
}

TEST_F(ExportTest, DuoOfNoStreamingHeads) {
  write(PlanFormat::duo);
  EXPECT_EQ(table("duo/full_attention_heads.tsv"), (Table{{"1", "1"}, {"1", "1"}}));
  EXPECT_EQ(json("duo/config.json")["sparsity"], 0);
}

TEST_F(ExportTest, TheFirstHeadThatAToolCannotDoIsNamed) {
  plan_.heads(0, 0) = {"window:size=9", ""};
  plan_.heads(0, 1) = {"topk:k=8", ""};
  plan_.heads(1, 0) = {"", "uniform"};
  for (const PlanFormat format : {PlanFormat::duo, PlanFormat::kvpress}) {
    plan_.heads(0, 1) = {"topk:k=8", ""};
    expect_refused(format, "0.1", "the pattern topk:k=8");
    plan_.heads(0, 1) = {};
    expect_refused(format, "1.0", "the normalizer uniform");
  }
}

TEST_F(ExportTest, WindowWithANormalizerIsRefused) {
  plan_.heads(1, 1) = {"window:size=9", "sparsemax"};
  expect_refused(PlanFormat::duo, "1.1", "the normalizer sparsemax");
}

TEST_F(ExportTest, KvpressGetsThePressAndThePlan) {
  plan_.heads(1, 0) = {"sinks:sinks=4,window=60", ""};
  const PlanExport done = write(PlanFormat::kvpress);
  const std::string press = text("kvpress/headgauge_press.py");
  EXPECT_TRUE(press.starts_with("\"\"\"A plan of headgauge"));
  EXPECT_NE(press.find("class HeadgaugePress(BasePress):"), press.npos);
  EXPECT_TRUE(press.ends_with("\n"));
  EXPECT_EQ(press.find('\0'), press.npos);
  EXPECT_EQ(read_plan(folder_ / "out/kvpress/plan.json").heads(1, 0), plan_.heads(1, 0));
  EXPECT_TRUE(done.notices.empty());
}

// The press reads patterns by a table that the export writes.
TEST_F(ExportTest, ThePressKnowsThePatterns) {
  write(PlanFormat::kvpress);
  const std::string press = text("kvpress/headgauge_press.py");
  EXPECT_NE(press.find("\nPATTERNS: dict[str, dict[str, int]] = {\n"
                       "    \"window\": {\"global\": 0, \"size\": 128},\n"
                       "    \"sinks\": {\"sinks\": 4, \"window\": 124},\n}\n"),
            press.npos);
  for (const PatternInfo& pattern : patterns()) {
    const bool known = press.find("    \"" + pattern.name + "\": {") != press.npos;
    EXPECT_EQ(known, make_pattern(pattern.name)->first_and_last().has_value()) << pattern.name;
  }
}

TEST_F(ExportTest, KvpressAndFamilies) {
  source_.family = "gemma2";
  EXPECT_EQ(write(PlanFormat::kvpress).notices.size(), 1u);
  source_.family = "gpt2";
  EXPECT_THROW(write(PlanFormat::kvpress), UnsupportedError);
}

TEST_F(ExportTest, DecodersCannotRunAModelThatReadsBothWays) {
  source_.causal = false;
  EXPECT_THROW(write(PlanFormat::duo), UnsupportedError);
  EXPECT_THROW(write(PlanFormat::kvpress), UnsupportedError);
}

TEST_F(ExportTest, ASearchKeepsToWhatCanBeExported) {
  const std::vector<PlanFormat> formats = {PlanFormat::duo, PlanFormat::kvpress};
  PlanOptions options;
  EXPECT_EQ(keep_exportable(options, formats, source_).size(), 1u);
  EXPECT_EQ(options.normalizers, std::vector<std::string>{"softmax"});
  options.patterns = {"window:size=9", "sinks:sinks=1,window=4"};
  EXPECT_TRUE(keep_exportable(options, formats, source_).empty());
  options.patterns = {"topk:k=3"};
  EXPECT_THROW(keep_exportable(options, formats, source_), UsageError);
  options.patterns = {};
  options.normalizers = {"uniform"};
  EXPECT_THROW(keep_exportable(options, formats, source_), UsageError);
}

TEST_F(ExportTest, ASearchForTransformersKeepsMeans) {
  PlanOptions options;
  ASSERT_EQ(std::ranges::count(source_.windows, 0), 1);
  EXPECT_EQ(keep_exportable(options, {PlanFormat::hf}, source_).size(), 1u);
  EXPECT_EQ(options.normalizers, std::vector<std::string>{"softmax"});
  options.normalizers = {"uniform"};
  EXPECT_THROW(keep_exportable(options, {PlanFormat::hf}, source_), UsageError);
  source_.windows = {0, 0};
  options.normalizers = {};
  EXPECT_TRUE(keep_exportable(options, {PlanFormat::hf}, source_).empty());
  EXPECT_EQ(options.normalizers, std::vector<std::string>{"uniform"});
  EXPECT_TRUE(keep_exportable(options, {PlanFormat::hf}, source_).empty());
  options.normalizers = {"sparsemax"};
  EXPECT_THROW(keep_exportable(options, {PlanFormat::hf}, source_), UsageError);
  for (const auto& formats : {std::vector{PlanFormat::hf, PlanFormat::duo},
                              std::vector{PlanFormat::duo, PlanFormat::hf}}) {
    options.normalizers = {};
    EXPECT_EQ(keep_exportable(options, formats, source_).size(), 1u);
    EXPECT_EQ(options.normalizers, std::vector<std::string>{"softmax"});
  }
}

TEST_F(ExportTest, TransformersNeedsACheckpoint) {
  EXPECT_THROW(write(PlanFormat::hf), UnsupportedError);
  plan_.heads(0, 1) = {"topk:k=8", ""};
  expect_refused(PlanFormat::hf, "0.1", "the pattern topk:k=8");
  plan_.heads(0, 1) = {"window:size=8", "uniform"};
  expect_refused(PlanFormat::hf, "0.1", "the normalizer uniform");
}

TEST(PlanFormats, AreNamed) {
  EXPECT_EQ(plan_format("kvpress"), PlanFormat::kvpress);
  EXPECT_EQ(plan_format_names(), "duo, kvpress, hf, hf-layers");
  EXPECT_EQ(thrown<UsageError>([] { plan_format("vllm", "--export"); }),
            "--export: expected one of duo, kvpress, hf, hf-layers, found \"vllm\"; name formats "
            "alone; Run::out is the folder of their files");
}

}  // namespace
}  // namespace headgauge
