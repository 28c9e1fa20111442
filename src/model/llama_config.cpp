#include "model/llama_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/layers.hpp"

namespace headgauge {
namespace {

using Windows = LlamaFamily::Windows;

constexpr Index kDefaultWindow = 4096;

constexpr LlamaFamily kFamilies[] = {
    {.model_type = "llama", .positions = 2048, .reads_bias = true, .reads_mlp_bias = true},
    {.model_type = "mistral", .kv_heads = 8, .positions = 131072, .windows = Windows::all},
    {.model_type = "qwen2",
     .kv_heads = 32,
     .positions = 32768,
     .windows = Windows::later,
     .qkv_bias = true},
    {.model_type = "qwen3",
     .kv_heads = 32,
     .head_dim = 128,
     .positions = 32768,
     .windows = Windows::later,
     .reads_bias = true,
     .norms_heads = true},
    {.model_type = "gemma",
     .kv_heads = 16,
     .head_dim = 256,
     .positions = 8192,
     .tied = true,
     .activation = "gelu_pytorch_tanh",
     .reads_bias = true,
     .gemma = true},
    {.model_type = "gemma2",
     .kv_heads = 4,
     .head_dim = 256,
     .positions = 8192,
     .tied = true,
     .activation = "gelu_pytorch_tanh",
     .windows = Windows::alternating,
     .reads_bias = true,
     .gemma = true,
     .four_norms = true},
    {.model_type = "seed_oss",
     .kv_heads = 8,
     .head_dim = 128,
     .positions = 524288,
     .reads_bias = true,
     .bias = true,
     .output_bias = "attention_out_bias",
     .reads_mlp_bias = true},
};

const LlamaFamily& find_family(const ConfigReader& config) {
  const auto type = config.get<std::string>("model_type");
  for (const LlamaFamily& family : kFamilies) {
    if (type == family.model_type) return family;
  }
  throw UnsupportedError(fault(config.where("model_type"), "a family that runs as Llama does",
                               "\"" + type + "\"", "use a checkpoint of such a family"));
}

// Returns whether the field is null, which overrides the default: "sliding_window": null means no
// window.
bool is_null(const ConfigReader& config, std::string_view key) {
  return config.json().contains(key) && !config.has(key);
}

Index size_or(const ConfigReader& config, std::string_view key, Index otherwise) {
  return config.has(key) ? config.get_size(key) : otherwise;
}

// Returns a soft-cap; 0 if there is none.
float cap_or(const ConfigReader& config, std::string_view key, double otherwise) {
  if (is_null(config, key)) return 0.0f;
  using Float = std::numeric_limits<float>;
  return static_cast<float>(config.get_number(key, otherwise, Float::min(), Float::max()));
}

const char* activation_field(const LlamaFamily& family) {
  return family.four_norms ? "hidden_activation" : "hidden_act";
}

std::vector<Index> read_windows(const ConfigReader& config, const LlamaFamily& family, int layers) {
  Index window = size_or(config, "sliding_window", kDefaultWindow);
  if (is_null(config, "sliding_window") || family.windows == Windows::none) window = 0;
  if (family.windows == Windows::later && !config.get_or("use_sliding_window", false)) window = 0;
  const Index later = family.windows == Windows::later && config.has("max_window_layers")
                          ? config.get_size("max_window_layers", 0)
                          : 28;
  std::vector<Index> windows;
  for (int layer = 0; layer < layers; ++layer) {
    const bool slides = family.windows == Windows::all ||
                        (family.windows == Windows::later && layer >= later) ||
                        (family.windows == Windows::alternating && layer % 2 == 0);
    windows.push_back(slides ? window : 0);
  }
  if (!config.has("layer_types")) {
    if (family.windows == Windows::alternating && window == 0) {
      throw BadInputError(fault(config.where("sliding_window"), "a window, for layers slide",
                                "null", "correct the config"));
    }
    return windows;
  }
  const auto types = config.get<std::vector<std::string>>("layer_types");
  if (std::ssize(types) != layers) {
    throw BadInputError(fault(config.where("layer_types"),
                              fmt::format("one for each of the {} layers", layers),
                              std::to_string(types.size()), "correct the config"));
  }
  for (int layer = 0; layer < layers; ++layer) {
    const auto l = static_cast<std::size_t>(layer);
    const bool slides = types[l] == "sliding_attention";
    if (!slides && types[l] != "full_attention") {
      throw UnsupportedError(fault(config.where("layer_types"),
                                   "full_attention or sliding_attention", "\"" + types[l] + "\"",
                                   "headgauge cannot run this type of layer"));
    }
    if (family.windows == Windows::none || family.windows == Windows::all) {
      if (slides == (windows[l] > 0)) continue;
      throw UnsupportedError(fault(
          config.where("layer_types"),
          fmt::format("{} in all layers, as {} is run",
                      windows[l] > 0 ? "sliding_attention" : "full_attention", family.model_type),
          "\"" + types[l] + "\"", "headgauge cannot run this model"));
    }
    if (slides && window == 0) {
      throw BadInputError(fault(config.where("sliding_window"),
                                "a window, for layer_types has sliding_attention", "none",
                                "correct the config"));
    }
    windows[l] = slides ? window : 0;
  }
  return windows;
}

Index read_head_dim(const ConfigReader& config, const LlamaFamily& family) {
  if (config.has("head_dim")) return config.get_size("head_dim");
  if (family.head_dim > 0) return family.head_dim;
  const Index width = config.get_size("hidden_size"),
              heads = config.get_size("num_attention_heads");
  if (width % heads != 0) {
    throw BadInputError(fault(config.where("hidden_size"),
                              fmt::format("a multiple of num_attention_heads = {}", heads),
                              std::to_string(width), "correct the config"));
  }
  return width / heads;
}

Index read_kv_heads(const ConfigReader& config, const LlamaFamily& family) {
  const Index heads = config.get_size("num_attention_heads");
  const bool stated = config.json().contains("num_key_value_heads");
  const Index otherwise = stated || family.kv_heads == 0 ? heads : family.kv_heads;
  const Index kv_heads = size_or(config, "num_key_value_heads", otherwise);
  if (heads % kv_heads != 0) {
    throw BadInputError(fault(config.where("num_key_value_heads"),
                              fmt::format("a divisor of num_attention_heads = {}", heads),
                              std::to_string(kv_heads), "correct the config"));
  }
  return kv_heads;
}

}  // namespace

std::span<const LlamaFamily> llama_families() {
  return kFamilies;
}

LlamaConfig::LlamaConfig(const ConfigReader& config)
    : family(&find_family(config)),
      layers(static_cast<int>(config.get_size("num_hidden_layers"))),
      heads(static_cast<int>(config.get_size("num_attention_heads"))),
      kv_heads(static_cast<int>(read_kv_heads(config, *family))),
      width(config.get_size("hidden_size")),
      inner(config.get_size("intermediate_size")),
      head_dim(read_head_dim(config, *family)),
      vocabulary(config.get_size("vocab_size")),
      positions(size_or(config, "max_position_embeddings", family->positions)),
      epsilon(config.get_number("rms_norm_eps", 1e-6, kLeastEpsilon, 1)),
      tied(config.get_or("tie_word_embeddings", family->tied)),
      qkv_bias(family->qkv_bias ||
               (family->reads_bias && config.get_or("attention_bias", family->bias))),
      output_bias(family->reads_bias && config.get_or(family->output_bias, false)),
      mlp_bias(family->reads_mlp_bias && config.get_or("mlp_bias", false)),
      scaled_by(family->four_norms ? size_or(config, "query_pre_attn_scalar", 256) : head_dim),
      score_cap(family->four_norms ? cap_or(config, "attn_logit_softcapping", 50.0) : 0.0f),
      logit_cap(family->four_norms ? cap_or(config, "final_logit_softcapping", 30.0) : 0.0f),
      windows(read_windows(config, *family, layers)),
      activation_name(config.get_or<std::string>(activation_field(*family), family->activation)),
      rope(config, head_dim, positions) {
  // Early Gemma configs say "gelu" but mean the tanh approximation used in training.
  if (family->gemma && !family->four_norms && activation_name == "gelu") {
    activation_name = family->activation;
    notices.push_back(followed_notice("hidden_act \"gelu\""));
  }
  activation = find_activation(activation_name, config.where(activation_field(*family)));
  if (!rope.followed().empty()) notices.push_back(followed_notice(rope.followed()));
}

bool LlamaConfig::any_window() const {
  return std::ranges::any_of(windows, [](Index window) { return window > 0; });
}

}  // namespace headgauge
