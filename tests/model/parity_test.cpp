// The forward pass against Hugging Face's in float64 (tests/golden/README.md).
#include <gtest/gtest.h>

#include "golden/random_checkpoint.hpp"
#include "headgauge/headgauge.hpp"
#include "model/golden.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

// Compares everything that the golden file holds with what the checkpoint in `folder` gives.
void compare(const Golden& golden, const std::string& folder) {
  const Document document{"golden", golden.get<int>("tokens"), ""};
  const ResolvedModel model = resolve_model(folder);
  const double tolerance = golden["logit_tolerance"];

  auto source = make_model_source(model, {document}, {.x = XSource::hidden, .threads = 2});
  compare_hidden(golden, *source);
  const auto losses = source->next_tokens(0).losses;
  const auto log_probs = golden.get<double>("next_token_log_probs");
  ASSERT_EQ(losses.size(), log_probs.size());
  for (std::size_t t = 0; t < losses.size(); ++t) {
    EXPECT_NEAR(-losses[t], log_probs[t], 2 * tolerance) << t;
  }

  ScanOptions scan_options;
  scan_options.lengths = golden.get<int>("lengths");
  scan_options.threads = 2;
  scan_options.measures = {"weights", "sensitivity", "model"};
  source = make_model_source(model, {document}, {});
  const Results results = scan(*source, scan_options);
  const auto loss = golden.get<double>("loss");
  for (std::size_t k = 0; k < loss.size(); ++k) {
    EXPECT_NEAR(results.at("loss", {0, static_cast<Index>(k)}), loss[k], tolerance);
  }
  compare_statistics(golden, results);
}

class Parity : public ::testing::TestWithParam<std::string> {};

TEST_P(Parity, WithHuggingFace) {
  compare(Golden(GetParam()), testing::source_path("tests/golden/" + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Gpt2, Parity, ::testing::ValuesIn(golden_cases("gpt2")), golden_test_name);
INSTANTIATE_TEST_SUITE_P(Llama, Parity, ::testing::ValuesIn(golden_cases("llama")),
                         golden_test_name);

// The published widths, cut to two layers, from weights that the test writes itself.
class Widths : public ::testing::TestWithParam<const char*> {};

TEST_P(Widths, WithHuggingFace) {
  const Golden golden(std::string("gpt2/random-") + GetParam());
  const nlohmann::json random = golden["random"];
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

class ParityReal : public ::testing::TestWithParam<std::string> {};

TEST_P(ParityReal, WithHuggingFace) {
  const std::string model = GetParam().substr(GetParam().find('/') + 1);
  const std::string folder = testing::shared_path("models/" + model);
  if (!testing::exists(folder)) GTEST_SKIP() << "no shared data at " << folder;
  compare(Golden(GetParam()), folder);
}

INSTANTIATE_TEST_SUITE_P(Trained, ParityReal,
                         ::testing::Values("gpt2/capp-gpt", "llama/stories260k"), golden_test_name);

}  // namespace
}  // namespace headgauge
