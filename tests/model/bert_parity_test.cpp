// The forward pass of BERT against Hugging Face's in float64 (tests/golden/README.md): a pass for
// each length.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "headgauge/headgauge.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using nlohmann::json;

json read_bert_golden(const std::string& name) {
  std::ifstream file(testing::source_path("tests/golden/bert/" + name + "/golden.json"));
  return json::parse(file);
}

Document document_of(const json& golden) {
  Document document;
  document.name = "golden";
  document.before = golden["before"].get<std::vector<int>>();
  document.tokens = golden["tokens"].get<std::vector<int>>();
  document.after = golden["after"].get<std::vector<int>>();
  return document;
}

// What enters each layer, as x = hidden gives it.
void compare_hidden(const json& golden, HeadSource& source) {
  const json& hidden = golden["hidden"];
  for (int layer = 0; layer < source.info().layers; ++layer) {
    const auto heads = source.layer(layer, 0);
    const auto l = static_cast<std::size_t>(layer);
    for (std::size_t r = 0; r < hidden["rows"].size(); ++r) {
      const auto x = heads.front().x[hidden["rows"][r].get<Index>()];
      double norm = 0;
      for (float v : x) norm += static_cast<double>(v) * v;
      const double expected_norm = hidden["norms"][l][r];
      EXPECT_NEAR(std::sqrt(norm), expected_norm, 1e-5 * expected_norm) << "layer " << layer;
      const auto& values = hidden["values"][l][r];
      for (std::size_t c = 0; c < values.size(); ++c) {
        EXPECT_NEAR(x[c], values[c].get<double>(), 1e-5 * std::max(1.0, expected_norm))
            << "layer " << layer << " row " << r << " column " << c;
      }
    }
  }
}

void compare_statistics(const json& golden, const Results& results) {
  for (const auto& [metric, layers] : golden["statistics"].items()) {
    ASSERT_NE(results.metric(metric), nullptr) << metric;
    double worst = 0;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      for (std::size_t h = 0; h < layers[l].size(); ++h) {
        for (std::size_t k = 0; k < layers[l][h].size(); ++k) {
          const double expected = layers[l][h][k];
          const double found = results.at(
              metric, {static_cast<Index>(l), static_cast<Index>(h), static_cast<Index>(k)});
          worst = std::max(worst, std::abs(found - expected) / std::max(std::abs(expected), 1e-6));
        }
      }
    }
    EXPECT_LE(worst, 2e-5) << metric;
  }
}

void compare_bert(const json& golden, const std::string& folder) {
  const ResolvedModel model = resolve_model(folder);
  SourceOptions options;
  options.threads = 2;
  options.x = XSource::hidden;
  const auto hidden = make_model_source(model, {document_of(golden)}, options);
  hidden->set_context(golden["lengths"].back().get<Index>());
  compare_hidden(golden, *hidden);

  options.x = XSource::embedding;
  const auto source = make_model_source(model, {document_of(golden)}, options);
  EXPECT_FALSE(source->info().causal);
  EXPECT_FALSE(source->info().has_loss);
  ScanOptions scan_options;
  scan_options.lengths = golden["lengths"].get<std::vector<int>>();
  scan_options.threads = 2;
  scan_options.measures = {"weights", "sensitivity"};
  compare_statistics(golden, scan(*source, scan_options));
}

class BertParity : public ::testing::TestWithParam<const char*> {};

TEST_P(BertParity, WithHuggingFace) {
  const std::string name = GetParam();
  compare_bert(read_bert_golden(name), testing::source_path("tests/golden/bert/" + name));
}

INSTANTIATE_TEST_SUITE_P(Switches, BertParity,
                         ::testing::Values("plain", "activation-gelu-new", "activation-relu",
                                           "activation-silu", "epsilon", "one-type", "five-types",
                                           "prefix", "untied", "old-names", "buffers", "defaults",
                                           "inner-narrow", "inner-wide", "one-head", "narrow-heads",
                                           "odd-heads", "f16", "bf16", "mixed"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

// x = embedding is the row of the word table as stored, x = value what the head adds up, with bias.
TEST(Bert, GivesTheVectorsThatXNames) {
  const std::string folder = testing::source_path("tests/golden/bert/prefix");
  const Document document = document_of(read_bert_golden("prefix"));
  const Checkpoint checkpoint = Checkpoint::open(folder);
  const auto words = checkpoint.find("bert.embeddings.word_embeddings.weight")->values();
  auto source = make_model_source(resolve_model(folder), {document}, {});
  const Vectors x = source->layer(0, 0).front().x;
  ASSERT_EQ(x.size(), std::ssize(document.tokens));
  for (Index t = 0; t < x.size(); ++t) {
    const auto token = static_cast<std::size_t>(document.tokens[static_cast<std::size_t>(t)]);
    for (std::size_t c = 0; c < 12; ++c) EXPECT_EQ(x[t][c], words[token * 12 + c]);
  }
  SourceOptions options;
  options.x = XSource::value;
  source = make_model_source(resolve_model(folder), {document}, options);
  for (const HeadInput& head : source->layer(1, 0)) {
    EXPECT_EQ(head.x.rows.data(), head.values.data());
    EXPECT_EQ(head.x.dimension(), 6);
  }
}

// The published weights: the text through the model's own tokenizer, whose file asks for 128
// tokens.
TEST(BertReal, MiniLm) {
  const std::string folder = testing::minilm_path();
  if (!testing::exists(folder)) GTEST_SKIP() << testing::kNoMiniLm;
  const json golden = read_bert_golden("minilm");
  const Tokenizer tokenizer = Tokenizer::load(folder);
  Tokenizer::Around around;
  const std::vector<int> tokens = tokenizer.encode(
      read_text_file(testing::source_path(golden["text"].get<std::string>())), around);
  EXPECT_EQ(around.before, golden["before"].get<std::vector<int>>());
  EXPECT_EQ(around.after, golden["after"].get<std::vector<int>>());
  const auto expected = golden["tokens"].get<std::vector<int>>();
  ASSERT_GE(tokens.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), tokens.begin()));
  compare_bert(golden, folder);
}

}  // namespace
}  // namespace headgauge
