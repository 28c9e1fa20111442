#include <gtest/gtest.h>

#include <filesystem>

#include "faults.hpp"
#include "headgauge/plan.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

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

TEST_F(ExportTest, TheFirstHeadThatAToolCannotDoIsNamed) {
  plan_.heads(0, 0) = {"window:size=9", ""};
  plan_.heads(0, 1) = {"topk:k=8", ""};
  plan_.heads(1, 0) = {"", "sparsemax"};
  for (const PlanFormat format : {PlanFormat::hf, PlanFormat::hf_layers}) {
    plan_.heads(0, 1) = {"topk:k=8", ""};
    expect_refused(format, "0.1", "the pattern topk:k=8");
    plan_.heads(0, 1) = {};
    expect_refused(format, "1.0", "the normalizer sparsemax");
  }
  plan_.heads(1, 0) = {"", "uniform"};
  expect_refused(PlanFormat::hf_layers, "1.0", "the normalizer uniform");
  plan_.heads(0, 1) = {"sinks:sinks=4,window=60", ""};
  expect_refused(PlanFormat::hf_layers, "0.1", "the pattern sinks:sinks=4,window=60");
}

TEST_F(ExportTest, WindowWithANormalizerIsRefused) {
  plan_.heads(1, 1) = {"window:size=9", "sparsemax"};
  expect_refused(PlanFormat::hf, "1.1", "the normalizer sparsemax");
}

TEST_F(ExportTest, DecodersCannotRunAModelThatReadsBothWays) {
  source_.causal = false;
  for (const PlanFormat format : {PlanFormat::hf, PlanFormat::hf_layers}) {
    expect_part(thrown<UnsupportedError>([&] { write(format); }), "which reads both ways");
  }
}

TEST_F(ExportTest, ASearchKeepsToWhatCanBeExported) {
  const std::vector<PlanFormat> formats = {PlanFormat::hf};
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
  source_.documents = {100};
  for (const auto& formats : {std::vector{PlanFormat::hf, PlanFormat::hf_layers},
                              std::vector{PlanFormat::hf_layers, PlanFormat::hf}}) {
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
  EXPECT_EQ(plan_format("hf-layers"), PlanFormat::hf_layers);
  EXPECT_EQ(plan_format_names(), "hf, hf-layers");
  EXPECT_EQ(thrown<UsageError>([] { plan_format("vllm", "--export"); }),
            "--export: expected one of hf, hf-layers, found \"vllm\"; name formats alone; "
            "Run::out is the folder of their files");
}

}  // namespace
}  // namespace headgauge
