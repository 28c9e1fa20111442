// What parity with Hugging Face (parity_test.cpp) cannot show of the Llama families: what a head
// says of itself, texts beyond the trained context, and what is refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "checkpoint/made_file.hpp"
#include "headgauge/headgauge.hpp"
#include "model/llama_config.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

using nlohmann::json;
using testing::expect_error;

std::string llama_folder(const std::string& name) {
  return fmt::format("{}/{}", testing::source_path("tests/golden/llama"), name);
}

Document ids(int count, int vocabulary = 31) {
  Document document{"ids", {}, ""};
  for (int i = 0; i < count; ++i) document.tokens.push_back(i * i * 7 % vocabulary);
  return document;
}

std::unique_ptr<ModelSource> open(const std::string& folder, std::vector<Document> documents) {
  return make_model_source(resolve_model(folder), std::move(documents), {.threads = 2});
}

// A copy of a golden checkpoint whose config has other fields; null removes one.
class Changed {
 public:
  Changed(const std::string& golden, const json& changes) : folder_("llama") {
    const std::string from = llama_folder(golden);
    json config = json::parse(testing::read_bytes(from + "/config.json"));
    for (const auto& [key, value] : changes.items()) {
      if (value.is_null()) {
        config.erase(key);
      } else {
        config[key] = value;
      }
    }
    testing::write_bytes(folder_ / "config.json", config.dump());
    testing::write_bytes(folder_ / "model.safetensors",
                         testing::read_bytes(from + "/model.safetensors"));
  }
  std::string path() const { return folder_.path(); }

 private:
  testing::TemporaryFolder folder_;
};

TEST(Llama, GroupsShareKeysAndValues) {
  const auto source = open(llama_folder("llama-plain"), {ids(40)});
  EXPECT_EQ(source->info().kv_heads, 2);
  EXPECT_EQ(source->info().max_length, 0);
  EXPECT_EQ(source->info().trained_length, 128);
  const auto heads = source->layer(0, 0);
  ASSERT_EQ(heads.size(), 6);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    EXPECT_EQ(heads[h].head, static_cast<int>(h));
    EXPECT_EQ(heads[h].kv_head, h < 3 ? 0 : 1);
    const HeadInput& first = heads[h < 3 ? 0 : 3];
    EXPECT_EQ(heads[h].keys.data(), first.keys.data());
    EXPECT_EQ(heads[h].values.data(), first.values.data());
    EXPECT_EQ(heads[h].unrotated_keys.data(), first.unrotated_keys.data());
  }
  EXPECT_NE(heads[0].keys.data(), heads[3].keys.data());
  EXPECT_NE(heads[0].values.data(), heads[3].values.data());
}

TEST(Llama, UnrotatedVectorsMeetAsTheyDoAtTheSamePosition) {
  const auto source = open(llama_folder("qwen3-plain"), {ids(40)});
  const auto meet = [](MatrixView<const float> q, Index t, MatrixView<const float> k, Index s) {
    double sum = 0;
    for (Index i = 0; i < q.cols(); ++i) sum += static_cast<double>(q(t, i)) * k(s, i);
    return sum;
  };
  for (const HeadInput& head : source->layer(0, 0)) {
    double apart = 0;
    for (Index t = 0; t < 40; ++t) {
      EXPECT_NEAR(meet(head.queries, t, head.keys, t),
                  meet(head.unrotated_queries, t, head.unrotated_keys, t), 1e-5);
      apart += std::abs(meet(head.queries, t, head.keys, 0) -
                        meet(head.unrotated_queries, t, head.unrotated_keys, 0));
    }
    EXPECT_GT(apart, 1.0);  // at different positions they do not
    for (Index i = 0; i < head.queries.cols(); ++i) {
      EXPECT_EQ(head.queries(0, i), head.unrotated_queries(0, i));
    }
    // After the norm of the head: its weights lie in [0.75, 1.25].
    const double square = meet(head.unrotated_queries, 7, head.unrotated_queries, 7);
    EXPECT_NEAR(square / static_cast<double>(head.queries.cols()), 1.0, 0.6);
  }
}

TEST(Llama, HeadsCarryWindowsScalesAndCaps) {
  const auto source = open(llama_folder("gemma2-plain"), {ids(40)});
  EXPECT_EQ(source->info().windows, (std::vector<Index>{21, 0, 21}));
  EXPECT_EQ(source->info().layer_types[0], "sliding_attention");
  EXPECT_EQ(source->info().layer_types[1], "full_attention");
  for (int layer = 0; layer < 3; ++layer) {
    const HeadInput& head = source->layer(layer, 0).front();
    EXPECT_EQ(head.visibility.window(), layer == 1 ? 0 : 21);
    EXPECT_EQ(head.visibility.range(30, 40).begin, layer == 1 ? 0 : 10);
    EXPECT_EQ(head.layer_type, source->info().layer_types[layer]);
    EXPECT_EQ(head.softcap, 1.5f);
    EXPECT_FLOAT_EQ(head.scale, 1 / std::sqrt(7.0f));
  }
}

// The texts of the golden files are shorter than the default window.
TEST(Llama, WindowsThatNoFieldStates) {
  const auto windows = [](const std::string& golden) {
    return open(llama_folder(golden), {ids(4)})->info().windows;
  };
  EXPECT_EQ(windows("llama-tied"), (std::vector<Index>{0, 0}));
  EXPECT_EQ(windows("mistral-full"), (std::vector<Index>{0, 0}));  // null
  EXPECT_EQ(windows("mistral-default"), (std::vector<Index>{4096, 4096}));
  EXPECT_EQ(windows("qwen3-plain"), (std::vector<Index>{0, 0}));
  EXPECT_EQ(windows("gemma2-defaults"), (std::vector<Index>{4096, 0}));
  EXPECT_EQ(windows("gemma3_text-defaults"), (std::vector<Index>{4096, 4096, 4096, 4096, 4096, 0}));
  EXPECT_EQ(windows("smollm3-plain"), (std::vector<Index>{0, 0, 0, 0}));
  const Changed uses("smollm3-window", {{"sliding_window", nullptr}});
  EXPECT_EQ(open(uses.path(), {ids(4)})->info().windows, (std::vector<Index>{0, 0, 0}));
}

std::vector<double> losses_of(const std::string& golden, const json& changes) {
  const Changed changed(golden, changes);
  const auto source = open(changed.path(), {ids(40)});
  for (int layer = 0; layer < source->info().layers; ++layer) source->layer(layer, 0);
  return source->next_tokens(0).losses;
}

// transformers 5 writes the ropes of both types of layers into one field, transformers 4 the
// windows as a pattern.
TEST(Llama, Gemma3IsTheSameInBothFormsOfItsConfig) {
  const auto rope = [](double theta) {
    return json{{"rope_type", "default"}, {"rope_theta", theta}};
  };
  json nested = {
      {"rope_theta", nullptr},
      {"rope_local_base_freq", nullptr},
      {"rope_parameters", {{"full_attention", rope(5e4)}, {"sliding_attention", rope(100)}}}};
  const auto plain = losses_of("gemma3_text-plain", {});
  EXPECT_EQ(losses_of("gemma3_text-plain", nested), plain);
  EXPECT_EQ(
      losses_of("gemma3_text-plain", {{"layer_types", nullptr}, {"sliding_window_pattern", 2}}),
      plain);
  // transformers writes a pattern that it does not read.
  EXPECT_EQ(losses_of("gemma3_text-plain", {{"_sliding_window_pattern", 6}}), plain);
  // Each rope is that of its layers.
  nested["rope_parameters"]["sliding_attention"] = rope(200);
  EXPECT_NE(losses_of("gemma3_text-plain", nested), plain);
  EXPECT_NE(losses_of("gemma3_text-plain", {{"rope_theta", 1e4}}), plain);
  nested["rope_scaling"] = {{"rope_type", "linear"}, {"factor", 2.0}};
  expect_error(ErrorKind::bad_input, {"rope_scaling", "none beside rope_parameters"},
               [&] { losses_of("gemma3_text-plain", nested); });
}

// A config with images has the same text part, under other names.
TEST(Llama, OfGemma3WithImagesOnlyTheTextPartRuns) {
  const std::string golden = llama_folder("gemma3_text-plain");
  const json text = json::parse(testing::read_bytes(golden + "/config.json"));
  const Safetensors file = Safetensors::open(golden + "/model.safetensors");
  for (const char* prefix : {"language_model.model.", "model.language_model."}) {
    const testing::TemporaryFolder folder("images");
    std::vector<TensorData> tensors;
    std::vector<std::vector<float>> values;
    for (const TensorView& tensor : file.tensors()) {
      const auto wide = tensor.values();
      values.emplace_back(wide.begin(), wide.end());
      tensors.push_back(float_tensor(prefix + tensor.name.substr(6), tensor.shape, values.back()));
    }
    tensors.push_back(float_tensor("vision_tower.patch", {1}, std::span(values.front()).first(1)));
    write_safetensors(folder / "model.safetensors", tensors);
    json config = {{"model_type", "gemma3"}, {"text_config", text}};
    // What stands outside counts where the text part has nothing.
    config["text_config"].erase("tie_word_embeddings");
    config["tie_word_embeddings"] = true;
    testing::write_bytes(folder / "config.json", config.dump());
    const auto source = open(folder.path(), {ids(40)});
    for (int layer = 0; layer < 3; ++layer) source->layer(layer, 0);
    EXPECT_EQ(source->next_tokens(0).losses, losses_of("gemma3_text-plain", {}));
    expect_part(source->info().notices.front(),
                "only its text part is measured (41 of 42 tensors)");
    config["tie_word_embeddings"] = false;
    testing::write_bytes(folder / "config.json", config.dump());
    expect_error(ErrorKind::bad_input, {"lm_head.weight"}, [&] { open(folder.path(), {ids(4)}); });
    config["tie_word_embeddings"] = true;
    // A config that transformers 5 wrote leaves no doubt about rope_parameters.
    for (const char* kind : {"full_attention", "sliding_attention"}) {
      config["text_config"]["rope_parameters"][kind] = {{"rope_type", "linear"}, {"factor", 2.0}};
    }
    for (const char* field : {"rope_theta", "rope_local_base_freq"})
      config["text_config"].erase(field);
    for (const char* version : {"4.57.1", "5.24.0"}) {
      config["transformers_version"] = version;
      testing::write_bytes(folder / "config.json", config.dump());
      const auto notices = open(folder.path(), {ids(4)})->info().notices;
      const auto doubts = std::ranges::count_if(notices, [](const std::string& notice) {
        return notice.find("rope_parameters") != notice.npos;
      });
      EXPECT_EQ(doubts, *version == '4' ? 1 : 0);
    }
    config["quantization_config"] = {{"quant_method", "gptq"}};
    testing::write_bytes(folder / "config.json", config.dump());
    expect_error(ErrorKind::unsupported, {"quantization_config", "gptq"},
                 [&] { open(folder.path(), {ids(4)}); });
  }
  // Published files state neither the heads nor the vocabulary.
  expect_error(ErrorKind::bad_input, {"embed_tokens.weight", "[262208, 12]"}, [&] {
    open(Changed("gemma3_text-plain", {{"vocab_size", nullptr}}).path(), {ids(4)});
  });
  expect_error(ErrorKind::bad_input, {"q_proj.weight", "[64, 12]"}, [&] {
    open(Changed("gemma3_text-plain", {{"num_attention_heads", nullptr}}).path(), {ids(4)});
  });
  const Changed none("gemma3_text-plain", {{"model_type", "gemma3"}});
  expect_error(ErrorKind::bad_input, {"text_config"}, [&] { open(none.path(), {ids(4)}); });
}

// An absent soft-cap of gemma2 is 50, that of gemma3 none.
TEST(Llama, AbsentSoftCapsAreThoseOfTheFamily) {
  const auto cap = [](const char* golden) {
    return open(llama_folder(golden), {ids(20)})->layer(0, 0).front().softcap;
  };
  EXPECT_EQ(cap("gemma2-defaults"), 50.0f);
  EXPECT_EQ(cap("gemma3_text-defaults"), 0.0f);
}

TEST(Llama, LayersWithoutPositionsTurnNothing) {
  const auto source = open(llama_folder("smollm3-plain"), {ids(20)});
  for (int layer = 0; layer < 4; ++layer) {
    const HeadInput& head = source->layer(layer, 0).front();
    EXPECT_EQ(std::ranges::equal(head.queries.row(9), head.unrotated_queries.row(9)), layer == 3);
  }
}

// The embedding is the table's row, whatever the family makes of it.
TEST(Llama, TheEmbeddingIsNotScaled) {
  const auto source = open(llama_folder("gemma-plain"), {ids(20)});
  const Checkpoint checkpoint = Checkpoint::open(llama_folder("gemma-plain"));
  const Matrix<float> table = checkpoint.find("model.embed_tokens.weight")->matrix();
  const HeadInput& head = source->layer(0, 0).front();
  for (Index t = 0; t < 20; ++t) {
    const auto row = table.row(ids(20).tokens[t]);
    EXPECT_TRUE(std::ranges::equal(head.x[t], row)) << t;
  }
}

// A model without a head is measured without a loss.
TEST(Llama, WithoutAHeadThereIsNoLoss) {
  const Changed changed("llama-no-prefix", {{"tie_word_embeddings", false}});
  const auto source = open(changed.path(), {ids(40)});
  EXPECT_EQ(source->info().element_bytes, 4);
  EXPECT_FALSE(source->info().has_loss);
  ScanOptions options;
  options.measures = {"weights", "model"};
  const Results results = scan(*source, options);
  EXPECT_EQ(results.metric("loss"), nullptr);
  EXPECT_NE(results.metric("entropy_with_sinks"), nullptr);
  EXPECT_TRUE(
      testing::notices_with(results, "saved without the head that predicts the next token"));
}

TEST(Llama, LengthsMayExceedTheTrainedContext) {
  ScanOptions options;
  options.measures = {"weights", "model"};
  const std::string folder = llama_folder("llama-beyond");  // trained on 24 positions
  Results results = scan(*open(folder, {ids(64)}), options);
  EXPECT_EQ(results.coord_numbers("length").back(), 24);
  EXPECT_FALSE(testing::notices_with(results, "was trained on"));
  options.lengths = {16, 64};
  results = scan(*open(folder, {ids(64)}), options);
  EXPECT_TRUE(testing::notices_with(results, "was trained on contexts of 24 tokens"));
  EXPECT_FALSE(testing::notices_with(results, "RoPE scaling"));
  EXPECT_GT(results.at("loss", {0, 1}), 0);
  results = scan(*open(llama_folder("llama-dynamic-beyond"), {ids(64)}), options);
  EXPECT_TRUE(testing::notices_with(results, "dynamic RoPE scaling takes other frequencies"));
}

// With dynamic scaling each document has the frequencies of its own length.
TEST(Llama, DocumentsDoNotDisturbEachOther) {
  const std::string folder = llama_folder("llama-dynamic-beyond");
  const auto both = open(folder, {ids(64), ids(20)});
  const auto alone = open(folder, {ids(20)});
  for (int layer = 0; layer < 2; ++layer) {
    both->layer(layer, 0);
    const HeadInput found = both->layer(layer, 1).front();
    const HeadInput expected = alone->layer(layer, 0).front();
    for (Index t = 0; t < 20; ++t) {
      EXPECT_TRUE(std::ranges::equal(found.queries.row(t), expected.queries.row(t)));
      EXPECT_TRUE(std::ranges::equal(found.keys.row(t), expected.keys.row(t)));
    }
  }
  EXPECT_EQ(both->next_tokens(1).losses, alone->next_tokens(0).losses);
}

// The divergence of a model with a soft-cap from itself under other normalizers is that of its
// capped logits: with a cap near 0 all distributions are alike.
TEST(Llama, TheSoftCapOfTheLogitsIsInTheDivergence) {
  const auto divergence = [](double cap) {
    const Changed changed("gemma2-plain", {{"final_logit_softcapping", cap}});
    CompareOptions options;
    options.scan.lengths = {40};
    options.scan.measures = {"weights", "model"};
    const auto source = open(changed.path(), {ids(40)});
    options.normalizers = {"softmax1"};
    return compare(*source, options, make_interventions(options, source->info())).at("kl", {1, 0});
  };
  const double plain = divergence(2.0);
  EXPECT_GT(plain, 1e-5);
  EXPECT_LT(divergence(0.02), plain / 100);
}

TEST(Llama, RefusesWhatDoesNotFit) {
  const auto refused = [](ErrorKind kind, const std::string& golden, const json& changes,
                          const std::vector<std::string>& parts) {
    SCOPED_TRACE(golden + " " + changes.dump());
    const Changed changed(golden, changes);
    expect_error(kind, parts, [&] { open(changed.path(), {ids(20)}); });
  };
  const ErrorKind unsupported = ErrorKind::unsupported, bad = ErrorKind::bad_input;
  // Grouped heads that do not fit each other, the width or the tensors.
  refused(bad, "llama-wide-heads", {{"num_key_value_heads", 3}},
          {"num_key_value_heads", "a divisor of num_attention_heads = 4", "found 3"});
  refused(bad, "llama-wide-heads", {{"num_key_value_heads", 4}},
          {"model.layers.0.self_attn.k_proj.weight", "shape [40, 12]", "shape [20, 12]"});
  refused(bad, "llama-wide-heads", {{"head_dim", nullptr}, {"num_attention_heads", 5}},
          {"num_key_value_heads", "5"});
  refused(bad, "llama-plain", {{"num_attention_heads", 10}},
          {"hidden_size", "a multiple of num_attention_heads = 10", "24"});
  refused(bad, "llama-plain", {{"num_hidden_layers", 1}},
          {"num_hidden_layers", "more than 1", "model.layers.1."});
  refused(bad, "llama-plain", {{"num_hidden_layers", 3}}, {"model.layers.2."});
  refused(bad, "llama-plain", {{"tie_word_embeddings", nullptr}, {"vocab_size", 30}},
          {"model.embed_tokens.weight", "shape [30, 24]"});
  refused(bad, "llama-tied", {{"tie_word_embeddings", false}}, {"lm_head.weight"});
  for (const double epsilon : {0.0, -1e-6, 1e-300, 1e39}) {
    refused(bad, "llama-plain", {{"rms_norm_eps", epsilon}}, {"rms_norm_eps", "from 1e-30 to 1"});
  }
  // Tensors that the config does not know change the result.
  refused(bad, "llama-biases", {{"mlp_bias", false}},
          {"model.layers.0.mlp.down_proj.bias", "no such tensor in a llama"});
  refused(bad, "qwen3-plain", {{"model_type", "llama"}},
          {"model.layers.0.self_attn.k_norm.weight", "no such tensor in a llama"});
  // Fields that do.
  refused(unsupported, "llama-plain", {{"hidden_act", "mystery"}}, {"hidden_act", "mystery"});
  refused(unsupported, "gemma-plain", {{"use_bidirectional_attention", true}},
          {"use_bidirectional_attention"});
  refused(unsupported, "llama-plain", {{"quantization_config", {{"quant_method", "gptq"}}}},
          {"quantization_config", "gptq"});
  refused(unsupported, "qwen2-layer-types",
          {{"layer_types", {"full_attention", "chunked_attention", "full_attention"}}},
          {"layer_types", "chunked_attention"});
  refused(bad, "qwen2-layer-types", {{"layer_types", {"full_attention"}}},
          {"layer_types", "3 layers", "found 1"});
  refused(bad, "qwen2-layer-types", {{"use_sliding_window", false}}, {"sliding_window"});
  refused(unsupported, "mistral-window", {{"layer_types", {"full_attention", "sliding_attention"}}},
          {"layer_types", "sliding_attention in all layers", "full_attention"});
  for (const int size : {0, -1}) {
    refused(bad, "gemma3_text-plain", {{"sliding_window", size}}, {"sliding_window"});
    refused(bad, "gemma3_text-pattern", {{"sliding_window_pattern", size}},
            {"sliding_window_pattern"});
  }
  refused(bad, "gemma3_text-plain", {{"sliding_window_pattern", 3}},
          {"layer_types", "sliding_window_pattern = 3", "full_attention in layer 1"});
  refused(unsupported, "gemma3_text-plain", {{"layer_types", {"a", "b", "c"}}},
          {"layer_types", "\"a\""});
  refused(bad, "gemma3_text-plain",
          {{"rope_parameters", {{"full_attention", {{"rope_type", "default"}}}}}},
          {"rope_parameters.sliding_attention"});
  refused(bad, "gemma3_text-plain", {{"head_dim", nullptr}}, {"self_attn", "shape [1024, 12]"});
  refused(bad, "smollm3-window", {{"no_rope_layers", {1, 0}}}, {"no_rope_layers", "3 layers"});
  for (const double cap : {-1.0, 0.0, 1e-300, 1e300}) {  // beyond float32 is not "none" either
    refused(bad, "gemma2-plain", {{"attn_logit_softcapping", cap}}, {"attn_logit_softcapping"});
  }
}

TEST(Llama, RefusesAnotherFamily) {
  const Changed changed("llama-plain", {{"model_type", "gpt2"}});
  const Checkpoint other = Checkpoint::open(changed.path());
  expect_error(ErrorKind::unsupported, {"model_type", "\"gpt2\""},
               [&] { LlamaConfig(other.config()); });
}

TEST(Llama, GemmaMeansTheTanhFormByGelu) {
  const auto losses = [](const json& changes) {
    const Changed changed("gemma-plain", changes);
    const auto source = open(changed.path(), {ids(20)});
    for (int layer = 0; layer < 2; ++layer) source->layer(layer, 0);
    return source->next_tokens(0).losses;
  };
  const auto tanh = losses({{"hidden_act", "gelu_pytorch_tanh"}});
  EXPECT_EQ(losses({}), tanh);
  EXPECT_EQ(losses({{"hidden_act", "gelu"}}), tanh);
  EXPECT_EQ(losses({{"hidden_activation", "gelu"}}), tanh) << "a field of gemma2";
  EXPECT_NE(losses({{"hidden_act", "silu"}}), tanh);
}

}  // namespace
}  // namespace headgauge
