// The forward pass against Hugging Face's in float64 (tests/golden/README.md).
#include <gtest/gtest.h>

#include <tuple>

#include "checkpoint/made_file.hpp"
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

class ParityReal : public ::testing::TestWithParam<std::string> {};

TEST_P(ParityReal, WithHuggingFace) {
  const std::string model = GetParam().substr(GetParam().find('/') + 1);
  const std::string folder = testing::shared_path("models/" + model);
  if (!testing::exists(folder)) GTEST_SKIP() << "no shared data at " << folder;
  compare(Golden(GetParam()), folder);
}

INSTANTIATE_TEST_SUITE_P(Trained, ParityReal,
                         ::testing::Values("gpt2/capp-gpt", "llama/stories260k"), golden_test_name);

// The forward pass of BERT against Hugging Face's in float64 (tests/golden/README.md): a pass for
// each length.

Document document_of(const Golden& golden) {
  Document document;
  document.name = "golden";
  document.before = golden.get<int>("before");
  document.tokens = golden.get<int>("tokens");
  document.after = golden.get<int>("after");
  return document;
}

void compare_bert(const Golden& golden, const std::string& folder) {
  const ResolvedModel model = resolve_model(folder);
  SourceOptions options{.x = XSource::hidden, .threads = 2};
  const auto hidden = make_model_source(model, {document_of(golden)}, options);
  hidden->set_context(golden.get<int>("lengths").back());
  compare_hidden(golden, *hidden);

  options.x = XSource::embedding;
  const auto source = make_model_source(model, {document_of(golden)}, options);
  EXPECT_FALSE(source->info().causal);
  EXPECT_FALSE(source->info().has_loss);
  ScanOptions scan_options;
  scan_options.lengths = golden.get<int>("lengths");
  scan_options.threads = 2;
  scan_options.measures = {"weights", "sensitivity"};
  compare_statistics(golden, scan(*source, scan_options));
}

class BertParity : public ::testing::TestWithParam<std::string> {};

TEST_P(BertParity, WithHuggingFace) {
  compare_bert(Golden(GetParam()), testing::source_path("tests/golden/" + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Bert, BertParity, ::testing::ValuesIn(golden_cases("bert")),
                         golden_test_name);

// x = embedding is the row of the word table as stored, x = value what the head adds up, with bias.
TEST(Bert, GivesTheVectorsThatXNames) {
  const std::string folder = testing::source_path("tests/golden/bert/prefix");
  const Document document = document_of(Golden("bert/prefix"));
  const Checkpoint checkpoint = Checkpoint::open(folder);
  const auto words = checkpoint.find("bert.embeddings.word_embeddings.weight")->values();
  auto source = make_model_source(resolve_model(folder), {document}, {});
  const Vectors x = source->layer(0, 0).front().x;
  ASSERT_EQ(x.size(), std::ssize(document.tokens));
  for (Index t = 0; t < x.size(); ++t) {
    const auto token = static_cast<std::size_t>(document.tokens[t]);
    for (std::size_t c = 0; c < 12; ++c) EXPECT_EQ(x[t][c], words[token * 12 + c]);
  }
  source = make_model_source(resolve_model(folder), {document}, {.x = XSource::value});
  for (const HeadInput& head : source->layer(1, 0)) {
    EXPECT_EQ(head.x.rows.data(), head.values.data());
    EXPECT_EQ(head.x.dimension(), 6);
  }
}

// A layer that the config has and the file lacks is found when the model is opened.
TEST(Families, CheckAllLayersBeforeWorkBegins) {
  for (const auto& [name, layers, tensor] :
       {std::tuple{"gpt2/activation-gelu", "n_layer", ".h.2.ln_1.weight"},
        std::tuple{"bert/activation-relu", "num_hidden_layers", ".layer.2."}}) {
    SCOPED_TRACE(name);
    const std::string from = testing::source_path(std::string("tests/golden/") + name);
    auto config = nlohmann::json::parse(testing::read_bytes(from + "/config.json"));
    ASSERT_EQ(config.at(layers), 2);
    config[layers] = 3;
    const testing::TemporaryFolder folder("layers");
    testing::write_bytes(folder / "config.json", config.dump());
    testing::write_bytes(folder / "model.safetensors",
                         testing::read_bytes(from + "/model.safetensors"));
    const Document document{"ids", {1, 2, 3}, ""};
    testing::expect_error(ErrorKind::bad_input, {"a tensor", tensor},
                          [&] { make_model_source(resolve_model(folder.path()), {document}, {}); });
  }
}

// The published weights: the text through the model's own tokenizer, whose file asks for 128
// tokens.
TEST(BertReal, MiniLm) {
  const std::string folder = testing::minilm_path();
  if (!testing::exists(folder)) GTEST_SKIP() << testing::kNoMiniLm;
  const Golden golden("bert/minilm");
  const Tokenizer tokenizer = Tokenizer::load(folder);
  Tokenizer::Around around;
  const std::vector<int> tokens =
      tokenizer.encode(read_text_file(testing::source_path(golden["text"])), around);
  EXPECT_EQ(around.before, golden.get<int>("before"));
  EXPECT_EQ(around.after, golden.get<int>("after"));
  const auto expected = golden.get<int>("tokens");
  ASSERT_GE(tokens.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), tokens.begin()));
  compare_bert(golden, folder);
}

}  // namespace
}  // namespace headgauge
