// Models read from GGUF files run as they do from safetensors, which parity_test.cpp holds to
// Hugging Face: golden checkpoints are written as llama.cpp's converter writes them, with its
// names, orders of rows and values.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <numeric>

#include "checkpoint/made_file.hpp"
#include "headgauge/headgauge.hpp"
#include "made_gguf.hpp"
#include "model/golden.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using nlohmann::json;
using testing::expect_error;
using testing::MadeGguf;
using testing::TemporaryFolder;

using Values = std::vector<float>;

// Names of Hugging Face without the number of the layer, and those of llama.cpp.
const std::vector<std::pair<std::string, std::string>> kNames = {
    {"model.embed_tokens", "token_embd"},
    {"model.norm", "output_norm"},
    {"lm_head", "output"},
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"transformer.wte", "token_embd"},
    {"transformer.wpe", "position_embd"},
    {"transformer.ln_f", "output_norm"},
    {"ln_1", "attn_norm"},
    {"attn.c_attn", "attn_qkv"},
    {"attn.c_proj", "attn_output"},
    {"ln_2", "ffn_norm"},
    {"mlp.c_fc", "ffn_up"},
    {"mlp.c_proj", "ffn_down"},
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"intermediate.dense", "ffn_up"},
    {"output.dense", "ffn_down"},
    {"output.LayerNorm", "layer_output_norm"},
};
const std::vector<std::pair<std::string, std::string>> kFourNormNames = {
    {"post_attention_layernorm", "post_attention_norm"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
};

// Empty where llama.cpp has no such tensor.
std::string stored_name(const std::string& name, const std::string& architecture) {
  const auto point = name.rfind('.');
  std::string base = name.substr(0, point), layer;
  for (const char* prefix : {"model.layers.", "transformer.h.", "encoder.layer."}) {
    if (!base.starts_with(prefix)) continue;
    base = base.substr(std::string_view(prefix).size());
    layer = "blk." + base.substr(0, base.find('.')) + ".";
    base = base.substr(base.find('.') + 1);
  }
  std::vector<std::pair<std::string, std::string>> names = kNames;
  if (architecture == "gemma2" || architecture == "gemma3_text")
    names.insert(names.begin(), kFourNormNames.begin(), kFourNormNames.end());
  for (const auto& [known, stored] : names) {
    if (base == known) return layer + stored + name.substr(point);
  }
  return "";
}

// permute() of llama.cpp's converter: (heads, 2, d / 2, columns) with the middle axes swapped.
Values permuted(const Values& values, Index rows, Index head_dim) {
  const Index columns = std::ssize(values) / rows;
  Values out(values.size());
  for (Index row = 0; row < rows; ++row) {
    const Index head = row / head_dim, half = row % head_dim / (head_dim / 2);
    const Index to = head * head_dim + row % (head_dim / 2) * 2 + half;
    std::copy_n(values.begin() + row * columns, columns, out.begin() + to * columns);
  }
  return out;
}

Values transposed(const Values& values, Index rows) {
  const Index columns = std::ssize(values) / rows;
  Values out;
  for (Index c = 0; c < columns; ++c) {
    for (Index r = 0; r < rows; ++r) out.push_back(values[r * columns + c]);
  }
  return out;
}

// What llama.cpp's converter makes of rope_scaling llama3.
Values llama3_divisors(const json& config) {
  const json& scaling = config["rope_scaling"];
  const double factor = scaling["factor"], low = scaling["low_freq_factor"],
               high = scaling["high_freq_factor"],
               original = scaling["original_max_position_embeddings"], dim = config["head_dim"];
  Values divisors;
  for (int i = 0; i < dim; i += 2) {
    const double wave = 2 * std::numbers::pi * std::pow(10000.0, i / dim);
    const double smooth = (original / wave - low) / (high - low);
    divisors.push_back(static_cast<float>(wave < original / high ? 1
                                          : wave > original / low
                                              ? factor
                                              : 1 / ((1 - smooth) / factor + smooth)));
  }
  return divisors;
}

void add_metadata(MadeGguf& made, const json& config) {
  const std::string type_of = config["model_type"];
  const std::string a = type_of == "gemma3_text" ? "gemma3" : type_of;
  made.add("general.architecture", a.c_str());
  const auto copy = [&](const char* key, std::initializer_list<const char*> fields) {
    for (const char* field : fields) {
      if (!config.contains(field) || config[field].is_null()) continue;
      if (config[field].is_number_float() || std::string_view(field).starts_with("rope_")) {
        made.add(a + "." + key, config[field].get<float>());
      } else {
        made.add(a + "." + key, config[field].get<std::uint32_t>());
      }
    }
  };
  copy("block_count", {"num_hidden_layers", "n_layer"});
  copy("context_length", {"max_position_embeddings", "n_positions"});
  copy("embedding_length", {"hidden_size", "n_embd"});
  copy("feed_forward_length", {"intermediate_size", "n_inner"});
  copy("attention.head_count", {"num_attention_heads", "n_head"});
  copy("attention.head_count_kv", {"num_key_value_heads"});
  copy("attention.layer_norm_rms_epsilon", {"rms_norm_eps"});
  copy("attention.layer_norm_epsilon", {"layer_norm_epsilon", "layer_norm_eps"});
  copy("rope.freq_base", {"rope_theta"});
  if (a == "gpt2" && config["n_inner"].is_null()) {
    made.add("gpt2.feed_forward_length", 4 * config["n_embd"].get<std::uint32_t>());
  }
  if (a == "bert") {
    made.add("bert.attention.causal", false).add("bert.pooling_type", std::uint32_t{2});
  } else if (a != "gpt2") {
    copy("attention.key_length", {"head_dim"});
    copy("attention.value_length", {"head_dim"});
    copy("rope.dimension_count", {"head_dim"});
  }
  if (a == "gemma2") {
    copy("attention.sliding_window", {"sliding_window"});
    copy("attn_logit_softcapping", {"attn_logit_softcapping"});
    copy("final_logit_softcapping", {"final_logit_softcapping"});
  }
  if (a == "gemma3") {
    copy("attention.sliding_window", {"sliding_window"});
    copy("rope.freq_base_swa", {"rope_local_base_freq"});
    made.add("gemma3.attention.sliding_window_pattern", std::uint32_t{2});
  }
  const json scaling = config.value("rope_scaling", json::object());
  const std::string type = scaling.value("rope_type", scaling.value("type", ""));
  if (type == "linear" || type == "yarn") {
    made.add(a + ".rope.scaling.type", type.c_str())
        .add(a + ".rope.scaling.factor", scaling["factor"].get<float>());
    if (type == "yarn") {
      made.add(a + ".rope.scaling.original_context_length",
               scaling["original_max_position_embeddings"].get<std::uint32_t>());
    }
  }
}

// The checkpoint of a folder as a GGUF file; `permutes`: whether the rows of a llama are in
// llama.cpp's order, as they are in such a file.
std::string as_gguf(const std::string& folder, const json& config, bool permutes = true) {
  const Safetensors file = Safetensors::open(folder + "/model.safetensors");
  const std::string architecture = config["model_type"];
  MadeGguf made;
  add_metadata(made, config);
  if (config.value("rope_scaling", json::object()).value("rope_type", "") == "llama3") {
    const Values divisors = llama3_divisors(config);
    made.floats("rope_freqs.weight", {std::ssize(divisors)}, divisors);
  }
  for (const TensorView& tensor : file.tensors()) {
    const std::string name = stored_name(tensor.name, architecture);
    if (name.empty()) continue;
    const auto wide = tensor.values();
    Values values(wide.begin(), wide.end());
    std::vector<Index> shape = tensor.shape;
    const bool turned = name.find("attn_q.") != name.npos || name.find("attn_k.") != name.npos;
    if (architecture == "llama" && turned && permutes) {
      const Index heads = config["num_attention_heads"], width = config["hidden_size"];
      values = permuted(values, shape[0], config.value("head_dim", width / heads));
    }
    const bool conv1d = tensor.name.find(".c_") != tensor.name.npos && shape.size() == 2;
    if (architecture == "gpt2" && conv1d) {
      values = transposed(values, shape[0]);
      std::swap(shape[0], shape[1]);
    }
    if (architecture.starts_with("gemma") && name.ends_with("norm.weight")) {
      for (float& value : values) value += 1;
    }
    made.floats(name, shape, values);
  }
  return made.bytes();
}

json config_of(const std::string& folder) {
  return json::parse(testing::read_bytes(folder + "/config.json"));
}

// What goes into each layer, and the losses of the tokens, with the ids of the golden file.
std::vector<double> run(const std::string& model, const Golden& golden) {
  const auto ids = golden.get<int>("tokens");
  const auto source = make_model_source(resolve_model(model), {{"ids", ids, ""}},
                                        {.x = XSource::hidden, .threads = 2});
  if (!source->info().causal) source->set_context(std::ssize(ids));
  std::vector<double> all;
  for (int layer = 0; layer < source->info().layers; ++layer) {
    for (const HeadInput& head : source->layer(layer, 0)) {
      for (Index row = 0; row < head.queries.rows(); ++row) {
        for (const float v : head.x[row]) all.push_back(v);
        for (const float v : head.queries.row(row)) all.push_back(v);
        for (const float v : head.keys.row(row)) all.push_back(v);
      }
    }
  }
  if (source->info().has_loss) {
    for (const float loss : source->next_tokens(0).losses) all.push_back(loss);
  }
  return all;
}

double worst_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a[i] - b[i]) / std::max(1.0, std::abs(b[i])));
  }
  return worst;
}

class FromGguf : public ::testing::TestWithParam<std::string> {};

TEST_P(FromGguf, RunsAsFromSafetensors) {
  const std::string golden = testing::source_path("tests/golden/" + GetParam());
  json config = config_of(golden);
  const TemporaryFolder folder("gguf");
  const std::string model = folder / "folder";
  std::filesystem::create_directories(model);
  // llama.cpp keeps neither: an activation is that of the architecture, and scores are divided by
  // the root of the size of a head.
  config.erase("hidden_act");
  if (config.contains("query_pre_attn_scalar"))
    config["query_pre_attn_scalar"] = config["head_dim"];
  testing::write_bytes(model + "/config.json", config.dump());
  testing::write_bytes(model + "/model.safetensors",
                       testing::read_bytes(golden + "/model.safetensors"));
  testing::write_bytes(folder / "model.gguf", as_gguf(model, config));

  const Golden tokens(GetParam());
  const std::vector<double> expected = run(model, tokens);
  EXPECT_LE(worst_difference(run(folder / "model.gguf", tokens), expected), 2e-6);
  const ModelSummary from = summarize_model(Checkpoint::open(model));
  const ModelSummary found = summarize_model(Checkpoint::open(folder / "model.gguf"));
  EXPECT_EQ(found.family, from.family);
  EXPECT_EQ(found.parameters, from.parameters);
  EXPECT_EQ(found.windows, from.windows);
  EXPECT_EQ(found.scaled_by, from.scaled_by);
  EXPECT_EQ(found.score_cap, from.score_cap);
}

INSTANTIATE_TEST_SUITE_P(Golden, FromGguf,
                         ::testing::Values("llama/llama-plain", "llama/llama-one-key-head",
                                           "llama/llama-wide-heads", "llama/llama-biases",
                                           "llama/llama-tied", "llama/llama-theta",
                                           "llama/llama-linear", "llama/llama-yarn",
                                           "llama/llama-llama3", "llama/qwen2-full",
                                           "llama/qwen3-plain", "llama/gemma-plain",
                                           "llama/gemma2-plain", "llama/gemma3_text-plain",
                                           "gpt2/plain", "gpt2/inner-wide", "gpt2/untied",
                                           "bert/plain", "bert/epsilon", "bert/five-types"),
                         golden_test_name);

// Were the rows of queries and keys left as they stand, the model would be another one.
TEST(Gguf, TheOrderOfRowsMatters) {
  const std::string golden = testing::source_path("tests/golden/llama/llama-plain");
  const TemporaryFolder folder("gguf-rows");
  testing::write_bytes(folder / "model.gguf", as_gguf(golden, config_of(golden), false));
  const Golden tokens("llama/llama-plain");
  EXPECT_GT(worst_difference(run(folder / "model.gguf", tokens), run(golden, tokens)), 1e-2);
}

// A store of another program names its files by their sums.
TEST(Gguf, IsKnownByItsBeginningWhateverItsName) {
  const std::string golden = testing::source_path("tests/golden/llama/llama-plain");
  const TemporaryFolder folder("gguf-name");
  testing::write_bytes(folder / "sha256-00ff", as_gguf(golden, config_of(golden), true));
  EXPECT_TRUE(resolve_model(folder / "sha256-00ff").gguf);
  testing::write_bytes(folder / "short", "GGU");
  EXPECT_THROW(resolve_model(folder / "short"), BadInputError) << "no safetensors file either";
}

Results scan_of_entropies(HeadSource& source, int length) {
  ScanOptions options;
  options.lengths = {length};
  options.threads = 2;
  options.measures = {"weights", "model"};
  return scan(source, options);
}

// Returns the largest distance of an entropy from `expected`, by layer and head.
double worst_entropy(const Results& results, const json& expected) {
  double worst = 0;
  for (Index layer = 0; layer < std::ssize(expected); ++layer) {
    for (Index head = 0; head < std::ssize(expected[layer]); ++head) {
      const double of_head = expected[layer][head];
      worst =
          std::max(worst, std::abs(results.at("entropy_with_sinks", {layer, head, 0}) - of_head));
    }
  }
  return worst;
}

// tests/golden/make_gemma_golden.py: transformers in float64.
TEST(Gguf, Gemma3IsThatOfTransformers) {
  const std::string file = testing::gemma3_path();
  if (!testing::exists(file)) GTEST_SKIP() << testing::kNoGemma3;
  const json golden =
      json::parse(testing::read_bytes(testing::source_path("tests/golden/gguf/gemma3.json")));
  const auto all = golden["tokens"].get<std::vector<int>>();
  EXPECT_EQ(Tokenizer::load(file).encode(read_text_file(testing::source_path("demo/text.txt"))),
            all);
  const int count = golden["count"], answered = std::ssize(golden["long_losses"]);
  auto prompt = golden["long_tokens"].get<std::vector<int>>();
  const std::vector<int> answer(prompt.end() - answered, prompt.end());
  prompt.resize(prompt.size() - answered);

  const auto source = make_model_source(
      resolve_model(file), {{"text", {all.begin(), all.begin() + count}, ""}}, {.threads = 2});
  const Results results = scan_of_entropies(*source, count);
  EXPECT_LE(worst_entropy(results, golden["entropy_with_sinks"]), 1e-5);
  EXPECT_NEAR(results.at("loss", {0, 0}), golden["loss"].get<double>(), 1e-6);

  // Far beyond the windows; only the logits of the last tokens are computed.
  const auto beyond = make_model_source(
      resolve_model(file), {make_case(prompt, answer, {.task = "t"}, "long")}, {.threads = 2});
  for (int layer = 0; layer < 18; ++layer) beyond->layer(layer, 0);
  const std::vector<double> losses = beyond->next_tokens(0).losses;
  ASSERT_EQ(std::ssize(losses), answered);
  const double tolerance = 2 * golden["long_float32_deviation"].get<double>();  // torch's own
  for (int t = 0; t < answered; ++t) {
    EXPECT_NEAR(losses[t], golden["long_losses"][t].get<double>(), tolerance) << t;
  }
}

// tests/golden/make_smollm_golden.py: numpy in float64 with llama.cpp's own RoPE. With the rows of
// queries and keys as they stand the loss is 2 nats more.
TEST(Gguf, SmolLm2IsThatOfNumpy) {
  const std::string file = testing::smollm_path();
  if (!testing::exists(file)) GTEST_SKIP() << testing::kNoSmolLm;
  const json golden =
      json::parse(testing::read_bytes(testing::source_path("tests/golden/gguf/smollm2.json")));
  const auto tokens = golden["tokens"].get<std::vector<int>>();
  std::vector<int> ids =
      Tokenizer::load(file).encode(read_text_file(testing::source_path("demo/text.txt")));
  ids.resize(tokens.size());
  EXPECT_EQ(ids, tokens);

  const auto source =
      make_model_source(resolve_model(file), {{"text", tokens, ""}}, {.threads = 2});
  EXPECT_EQ(source->info().element_bytes, 2);
  const Results results = scan_of_entropies(*source, static_cast<int>(tokens.size()));
  EXPECT_LE(worst_entropy(results, golden["entropy_with_sinks"]), 1e-5);
  const auto losses = golden["losses"].get<std::vector<double>>();
  const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / std::ssize(losses);
  EXPECT_NEAR(results.at("loss", {0, 0}), mean, 1e-6 * mean);
}

TEST(Gguf, RefusesATensorOfAnotherModelByItsName) {
  const std::string golden = testing::source_path("tests/golden/llama/qwen3-plain");
  json config = config_of(golden);
  config["model_type"] = "qwen2";  // which has biases and no norms of heads
  const TemporaryFolder folder("gguf-other");
  testing::write_bytes(folder / "model.gguf", as_gguf(golden, config));
  expect_error({"model.gguf", "q_proj.bias"}, [&] {
    make_model_source(resolve_model(folder / "model.gguf"), {{"ids", {1, 2}, ""}}, {});
  });
}

}  // namespace
}  // namespace headgauge
