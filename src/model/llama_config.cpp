#include "model/llama_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/layers.hpp"

namespace headgauge {
namespace {

using Windows = LlamaFamily::Windows;

constexpr LlamaFamily kFamilies[] = {
    {.model_type = "llama",
     .positions = 2048,
     .mixes_windows = false,
     .reads_bias = true,
     .reads_mlp_bias = true},
    {.model_type = "mistral",
     .kv_heads = 8,
     .positions = 131072,
     .windows = Windows::all,
     .mixes_windows = false},
    {.model_type = "ministral", .kv_heads = 8, .positions = 131072, .windows = Windows::all},
    {.model_type = "smollm3",
     .kv_heads = 4,
     .positions = 32768,
     .tied = true,
     .windows = Windows::without_rope,
     .window = 0,
     .theta = 2e6,
     .without_rope = 4,
     .reads_bias = true,
     .reads_mlp_bias = true},
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
     .mixes_windows = false,
     .reads_bias = true,
     .gemma = true},
    {.model_type = "gemma2",
     .kv_heads = 4,
     .head_dim = 256,
     .positions = 8192,
     .tied = true,
     .activation = "gelu_pytorch_tanh",
     .activation_field = "hidden_activation",
     .windows = Windows::pattern,
     .pattern = 2,
     .reads_bias = true,
     .gemma = true,
     .four_norms = true,
     .scaled_by = 256,
     .score_cap = 50,
     .logit_cap = 30},
    {.model_type = "gemma3_text",
     .heads = 8,
     .vocabulary = 262208,
     .kv_heads = 4,
     .head_dim = 256,
     .positions = 131072,
     .tied = true,
     .activation = "gelu_pytorch_tanh",
     .activation_field = "hidden_activation",
     .windows = Windows::pattern,
     .pattern = 6,
     .theta = 1e6,
     .local_theta = 1e4,
     .reads_bias = true,
     .norms_heads = true,
     .gemma = true,
     .four_norms = true,
     .scaled_by = 256},
    {.model_type = "seed_oss",
     .kv_heads = 8,
     .head_dim = 128,
     .positions = 524288,
     .mixes_windows = false,
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

// Returns a size that must be stated if it has no default.
Index size_with(const ConfigReader& config, std::string_view key, Index otherwise) {
  return otherwise > 0 ? size_or(config, key, otherwise) : config.get_size(key);
}

// Returns a soft-cap; 0 if there is none.
float cap_or(const ConfigReader& config, std::string_view key, double otherwise) {
  if (!config.has(key) && (otherwise == 0 || is_null(config, key))) return 0.0f;
  using Float = std::numeric_limits<float>;
  return static_cast<float>(config.get_number(key, otherwise, Float::min(), Float::max()));
}

// Returns, for each layer, whether it turns queries and keys by position.
std::vector<bool> read_positions(const ConfigReader& config, const LlamaFamily& family,
                                 int layers) {
  std::vector<bool> turns(static_cast<std::size_t>(layers), true);
  if (family.without_rope == 0) return turns;
  if (!config.has("no_rope_layers")) {
    const Index each = size_or(config, "no_rope_layer_interval", family.without_rope);
    for (int layer = 0; layer < layers; ++layer) turns[layer] = (layer + 1) % each != 0;
    return turns;
  }
  const auto stated = config.get<std::vector<int>>("no_rope_layers");
  refuse_if(std::ssize(stated) < layers, config.where("no_rope_layers"),
            fmt::format("one for each of the {} layers", layers), std::to_string(stated.size()),
            "correct the config");
  for (int layer = 0; layer < layers; ++layer) turns[layer] = stated[layer] != 0;
  return turns;
}

constexpr const char* kPattern = "sliding_window_pattern";

// transformers also writes _sliding_window_pattern, which says nothing: it is not read.
Index read_pattern(const ConfigReader& config, const LlamaFamily& family) {
  return family.local_theta > 0 ? size_or(config, kPattern, family.pattern) : family.pattern;
}

bool uses_windows(const ConfigReader& config) {
  return config.get_or("use_sliding_window", false);
}

// Returns whether each layer has a window, by the defaults of its family. `window` 0: the config
// has none.
std::vector<bool> usual_windows(const ConfigReader& config, const LlamaFamily& family, Index window,
                                const std::vector<bool>& turns) {
  const Index later =
      config.has("max_window_layers") ? config.get_size("max_window_layers", 0) : 28;
  const Index pattern = read_pattern(config, family);
  std::vector<bool> slides;
  for (Index layer = 0; layer < std::ssize(turns); ++layer) {
    switch (family.windows) {
      case Windows::none:
        slides.push_back(false);
        break;
      case Windows::all:
        slides.push_back(window > 0);
        break;
      case Windows::later:
        slides.push_back(window > 0 && layer >= later);
        break;
      case Windows::pattern:
        slides.push_back((layer + 1) % pattern != 0);
        break;
      case Windows::without_rope:
        slides.push_back(window > 0 && uses_windows(config) &&
                         !turns[static_cast<std::size_t>(layer)]);
        break;
    }
  }
  return slides;
}

// Returns whether each layer has a window, by layer_types.
std::vector<bool> stated_windows(const ConfigReader& config, const LlamaFamily& family,
                                 const std::vector<bool>& usual) {
  const auto types = config.get<std::vector<std::string>>("layer_types");
  refuse_if(types.size() != usual.size(), config.where("layer_types"),
            fmt::format("one for each of the {} layers", usual.size()),
            std::to_string(types.size()), "correct the config");
  std::vector<bool> slides;
  for (std::size_t l = 0; l < types.size(); ++l) {
    slides.push_back(types[l] == "sliding_attention");
    refuse_if<UnsupportedError>(!slides[l] && types[l] != "full_attention",
                                config.where("layer_types"), "full_attention or sliding_attention",
                                "\"" + types[l] + "\"", "headgauge cannot run this type of layer");
    if (slides[l] == usual[l]) continue;
    refuse_if<UnsupportedError>(
        !family.mixes_windows, config.where("layer_types"),
        fmt::format("{} in all layers, as {} is run",
                    usual[l] ? "sliding_attention" : "full_attention", family.model_type),
        "\"" + types[l] + "\"", "headgauge cannot run this model");
    refuse_if(family.local_theta > 0 && config.has(kPattern), config.where("layer_types"),
              fmt::format("the layers that {} = {} has", kPattern, read_pattern(config, family)),
              fmt::format("{} in layer {}", types[l], l), "correct the config");
  }
  return slides;
}

std::vector<LayerSpec> read_layers(const ConfigReader& config, const LlamaFamily& family,
                                   int layers) {
  const std::vector<bool> turns = read_positions(config, family, layers);
  Index window = size_or(config, "sliding_window", family.window);
  const bool qwen = family.windows == Windows::later;
  if (is_null(config, "sliding_window") || (qwen && !uses_windows(config))) window = 0;
  std::vector<bool> slides = usual_windows(config, family, window, turns);
  if (config.has("layer_types")) slides = stated_windows(config, family, slides);
  if (window == 0 && std::ranges::count(slides, true) > 0) {
    const bool off = qwen && !uses_windows(config);
    throw BadInputError(fault(config.where(off ? "use_sliding_window" : "sliding_window"),
                              off ? "true, for layers slide" : "a window, for layers slide",
                              off ? "false, or no such field" : "none", "correct the config"));
  }
  std::vector<LayerSpec> specs;
  for (std::size_t l = 0; l < slides.size(); ++l) {
    const int rope = family.local_theta > 0 && slides[l] ? 1 : 0;
    specs.push_back({slides[l] ? window : 0, turns[l] ? rope : -1});
  }
  return specs;
}

// Returns the rope of all layers, or that of layers without and that of layers with a window.
std::vector<Rope> read_ropes(const ConfigReader& config, const LlamaFamily& family, Index head_dim,
                             Index positions) {
  Rope::Fields fields{.otherwise = family.theta};
  if (family.local_theta > 0) fields.layer_type = "full_attention";
  std::vector<Rope> ropes = {Rope(config, head_dim, positions, fields)};
  if (family.local_theta > 0) {
    fields = {"sliding_attention", "rope_local_base_freq", family.local_theta, false};
    ropes.emplace_back(config, head_dim, positions, fields);
  }
  return ropes;
}

Index read_head_dim(const ConfigReader& config, const LlamaFamily& family, Index heads) {
  if (config.has("head_dim")) return config.get_size("head_dim");
  if (family.head_dim > 0) return family.head_dim;
  const Index width = config.get_size("hidden_size");
  refuse_if(width % heads != 0, config.where("hidden_size"),
            fmt::format("a multiple of num_attention_heads = {}", heads), std::to_string(width),
            "correct the config");
  return width / heads;
}

Index read_kv_heads(const ConfigReader& config, const LlamaFamily& family, Index heads) {
  const bool stated = config.json().contains("num_key_value_heads");
  const Index otherwise = stated || family.kv_heads == 0 ? heads : family.kv_heads;
  const Index kv_heads = size_or(config, "num_key_value_heads", otherwise);
  refuse_if(heads % kv_heads != 0, config.where("num_key_value_heads"),
            fmt::format("a divisor of num_attention_heads = {}", heads), std::to_string(kv_heads),
            "correct the config");
  return kv_heads;
}

}  // namespace

std::span<const LlamaFamily> llama_families() {
  return kFamilies;
}

LlamaConfig::LlamaConfig(const ConfigReader& config)
    : family(&find_family(config)),
      layers(static_cast<int>(config.get_size("num_hidden_layers"))),
      heads(static_cast<int>(size_with(config, "num_attention_heads", family->heads))),
      kv_heads(static_cast<int>(read_kv_heads(config, *family, heads))),
      width(config.get_size("hidden_size")),
      inner(config.get_size("intermediate_size")),
      head_dim(read_head_dim(config, *family, heads)),
      vocabulary(size_with(config, "vocab_size", family->vocabulary)),
      positions(size_or(config, "max_position_embeddings", family->positions)),
      epsilon(config.get_number("rms_norm_eps", 1e-6, kLeastEpsilon, 1)),
      tied(config.get_or("tie_word_embeddings", family->tied)),
      qkv_bias(family->qkv_bias ||
               (family->reads_bias && config.get_or("attention_bias", family->bias))),
      output_bias(family->reads_bias && config.get_or(family->output_bias, false)),
      mlp_bias(family->reads_mlp_bias && config.get_or("mlp_bias", false)),
      scaled_by(family->scaled_by > 0 ? size_or(config, "query_pre_attn_scalar", family->scaled_by)
                                      : head_dim),
      score_cap(family->score_cap > 0 ? cap_or(config, "attn_logit_softcapping", family->score_cap)
                                      : 0.0f),
      logit_cap(family->scaled_by > 0 ? cap_or(config, "final_logit_softcapping", family->logit_cap)
                                      : 0.0f),
      specs(read_layers(config, *family, layers)),
      ropes(read_ropes(config, *family, head_dim, positions)),
      activation_name(config.get_or<std::string>(family->activation_field, family->activation)) {
  // Early Gemma configs say "gelu" but mean the tanh approximation used in training.
  if (family->gemma && !family->four_norms && activation_name == "gelu") {
    activation_name = family->activation;
    notices.push_back(followed_notice("hidden_act \"gelu\""));
  }
  activation = find_activation(activation_name, config.where(family->activation_field));
  for (const Rope& rope : ropes) {
    const std::string notice = rope.followed().empty() ? "" : followed_notice(rope.followed());
    if (!notice.empty() && std::ranges::count(notices, notice) == 0) notices.push_back(notice);
  }
}

std::vector<Index> LlamaConfig::windows() const {
  std::vector<Index> of_layers;
  for (const LayerSpec& spec : specs) of_layers.push_back(spec.window);
  return of_layers;
}

std::string LlamaConfig::rope_text() const {
  std::string text = ropes.front().text();
  if (ropes.size() > 1) text += "; with a window: " + ropes.back().text();
  const auto none = std::ranges::count(specs, -1, &LayerSpec::rope);
  if (none > 0) text += fmt::format("; {} of {} layers without positions", none, layers);
  return text;
}

}  // namespace headgauge
