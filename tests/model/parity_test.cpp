// The forward pass against Hugging Face's in float64 (tests/golden/README.md).
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "golden/random_checkpoint.hpp"
#include "headgauge/headgauge.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using nlohmann::json;

// GPT-2 or a Llama; no two of their golden files have the same name.
std::string golden_folder(const std::string& name) {
  const std::string gpt2 = testing::source_path("tests/golden/gpt2/" + name);
  return testing::exists(gpt2) ? gpt2 : testing::source_path("tests/golden/llama/" + name);
}

json read_golden(const std::string& name) {
  std::ifstream file(golden_folder(name) + "/golden.json");
  return json::parse(file);
}

// Worst deviation, absolute or relative, and how many values were compared.
struct Deviation {
  double worst = 0;
  int values = 0;
  void add(double found, double expected, double scale) {
    worst = std::max(worst, std::abs(found - expected) / scale);
    ++values;
  }
};

// Compares everything that golden.json holds with what the checkpoint in `folder` gives.
void compare(const json& golden, const std::string& folder) {
  Document document{"golden", golden["tokens"].get<std::vector<int>>(), ""};
  const ResolvedModel model = resolve_model(folder);
  const double tolerance = golden["logit_tolerance"];

  // The residual stream entering each block, as x = hidden gives it.
  SourceOptions options;
  options.x = XSource::hidden;
  options.threads = 2;
  auto source = make_model_source(model, {document}, options);
  const json& hidden = golden["hidden"];
  for (int layer = 0; layer < source->info().layers; ++layer) {
    const auto heads = source->layer(layer, 0);
    const auto l = static_cast<std::size_t>(layer);
    for (std::size_t r = 0; r < hidden["rows"].size(); ++r) {
      const Index row = hidden["rows"][r];
      const auto x = heads.front().x[row];
      double norm = 0;
      for (float v : x) norm += static_cast<double>(v) * v;
      norm = std::sqrt(norm);
      const double expected_norm = hidden["norms"][l][r];
      EXPECT_NEAR(norm, expected_norm, 1e-5 * expected_norm) << "layer " << layer;
      const auto& values = hidden["values"][l][r];
      for (std::size_t c = 0; c < values.size(); ++c) {
        EXPECT_NEAR(x[c], values[c].get<double>(), 1e-5 * std::max(1.0, expected_norm))
            << "layer " << layer << " row " << row << " column " << c;
      }
    }
  }
  const auto losses = source->next_tokens(0).losses;
  const auto& log_probs = golden["next_token_log_probs"];
  ASSERT_EQ(losses.size(), log_probs.size());
  Deviation loss;
  for (std::size_t t = 0; t < losses.size(); ++t) {
    loss.add(-losses[t], log_probs[t].get<double>(), 1.0);
  }
  EXPECT_LE(loss.worst, 2 * tolerance);

  ScanOptions scan_options;
  scan_options.lengths = golden["lengths"].get<std::vector<int>>();
  scan_options.threads = 2;
  scan_options.measures = {"weights", "sensitivity", "model"};
  source = make_model_source(model, {document}, {});
  const Results results = scan(*source, scan_options);
  for (std::size_t k = 0; k < golden["loss"].size(); ++k) {
    EXPECT_NEAR(results.at("loss", {static_cast<Index>(k)}), golden["loss"][k].get<double>(),
                tolerance);
  }
  for (const auto& [metric, layers] : golden["statistics"].items()) {
    ASSERT_NE(results.metric(metric), nullptr) << metric;
    Deviation deviation;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      for (std::size_t h = 0; h < layers[l].size(); ++h) {
        for (std::size_t k = 0; k < layers[l][h].size(); ++k) {
          const double expected = layers[l][h][k];
          const double found = results.at(
              metric, {static_cast<Index>(l), static_cast<Index>(h), static_cast<Index>(k)});
          deviation.add(found, expected, std::max(std::abs(expected), 1e-6));
        }
      }
    }
    EXPECT_LE(deviation.worst, 2e-5) << metric << " over " << deviation.values << " values";
  }
}

std::string test_name(const ::testing::TestParamInfo<const char*>& tested) {
  std::string name = tested.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

class Parity : public ::testing::TestWithParam<const char*> {};

TEST_P(Parity, WithHuggingFace) {
  const std::string name = GetParam();
  compare(read_golden(name), golden_folder(name));
}

INSTANTIATE_TEST_SUITE_P(
    Switches, Parity,
    ::testing::Values("plain", "one-head", "narrow-heads", "odd-heads", "activation-gelu-new",
                      "activation-gelu", "activation-gelu-fast", "activation-gelu-pytorch-tanh",
                      "activation-quick-gelu", "activation-relu", "activation-silu",
                      "activation-swish", "activation-tanh", "unscaled", "inverse-layer",
                      "unscaled-inverse-layer", "upcast", "sharp", "inner-narrow", "inner-wide",
                      "epsilon", "defaults", "special-ids", "no-prefix", "untied", "f16", "bf16",
                      "sharded", "sharded-no-prefix", "buffers-f32", "buffers-bool", "mixed"),
    test_name);

INSTANTIATE_TEST_SUITE_P(
    Llamas, Parity,
    ::testing::Values("llama-plain", "llama-defaults", "llama-one-key-head", "llama-wide-heads",
                      "llama-biases", "llama-tied", "llama-no-prefix", "llama-buffers",
                      "llama-theta", "llama-beyond", "llama-linear", "llama-dynamic",
                      "llama-dynamic-beyond", "llama-yarn", "llama-yarn-mscale",
                      "llama-yarn-factor", "llama-yarn-clamped", "llama-longrope",
                      "llama-longrope-beyond", "llama-longrope-factor", "llama-llama3", "llama-f16",
                      "llama-sharded", "mistral-full", "mistral-window", "mistral-default",
                      "qwen2-full", "qwen2-window", "qwen2-layer-types", "qwen3-plain",
                      "qwen3-window", "gemma-plain", "gemma-bf16", "gemma2-plain", "gemma2-no-caps",
                      "gemma2-defaults", "seed_oss-plain", "seed_oss-defaults"),
    test_name);

// The published widths, cut to two layers, from weights that the test writes itself.
class Widths : public ::testing::TestWithParam<const char*> {};

TEST_P(Widths, WithHuggingFace) {
  const json golden = read_golden(std::string("random-") + GetParam());
  const json& random = golden["random"];
  golden::RandomCheckpoint checkpoint;
  checkpoint.size = random["size"];
  checkpoint.dtype = random["dtype"];
  checkpoint.shards = random["shards"];
  checkpoint.seed = random["seed"];
  checkpoint.layers = random["layers"];
  checkpoint.vocab = random["vocab"];
  checkpoint.positions = random["positions"];
  const testing::TemporaryFolder folder(std::string("width-") + GetParam());
  golden::write_random_checkpoint(folder.path(), checkpoint);
  compare(golden, folder.path());
}

INSTANTIATE_TEST_SUITE_P(Published, Widths, ::testing::Values("small", "medium", "large", "xl"));

class ParityReal : public ::testing::TestWithParam<const char*> {};

TEST_P(ParityReal, WithHuggingFace) {
  const std::string folder = testing::shared_path(std::string("models/") + GetParam());
  if (!testing::exists(folder)) GTEST_SKIP() << "no shared data at " << folder;
  compare(read_golden(GetParam()), folder);
}

INSTANTIATE_TEST_SUITE_P(Trained, ParityReal, ::testing::Values("capp-gpt", "stories260k"),
                         test_name);

}  // namespace
}  // namespace headgauge
