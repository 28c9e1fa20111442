#include "plan/export_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "headgauge/checkpoint.hpp"
#include "headgauge/patterns.hpp"
#include "plan/export_hf.hpp"
#include "plan/hf_folder.hpp"

namespace headgauge {
namespace {

// The class of transformers that loads the same tensors and has windows by layer.
struct Served {
  std::string_view family, model_type, architecture;
  bool has_switch = false;  // windows are off unless use_sliding_window is set
};

constexpr std::array kServedByLayer = {
    Served{"llama", "ministral", "MinistralForCausalLM"},
    Served{"mistral", "ministral", "MinistralForCausalLM"},
    Served{"qwen2", "qwen2", "Qwen2ForCausalLM", true},
    Served{"qwen3", "qwen3", "Qwen3ForCausalLM", true},
};

constexpr Index kNoWindow = 4096;  // the default of transformers

const Served* served(const SourceInfo& source) {
  const auto found = std::ranges::find(kServedByLayer, source.family, &Served::family);
  return found == kServedByLayer.end() ? nullptr : &*found;
}

// Returns the window of the layer; nothing if it keeps all keys.
std::optional<Index> window_of(const AttentionPlan& plan, int layer) {
  const HeadPlan& first = plan.heads(layer, 0);
  for (int head = 1; head < plan.heads.heads(); ++head) {
    if (plan.heads(layer, head) == first) continue;
    throw UnsupportedError(fault(fmt::format("layer {}", layer), "heads that are changed alike",
                                 "two of them differ",
                                 "make a plan of whole layers: PlanOptions::whole_layers"));
  }
  if (!first.changes()) return std::nullopt;
  return make_pattern(first.pattern, "pattern of a plan")->first_and_last()->last;
}

}  // namespace

void require_served_by_layer(const SourceInfo& source, const Checkpoint* checkpoint) {
  require_served(source, checkpoint);
  const auto refuse = [&](const std::string& expected, const std::string& found) {
    throw UnsupportedError(
        fault("hf-layers", expected, found, "write the format hf, which serves heads"));
  };
  if (served(source) == nullptr) {
    std::string known;
    for (const Served& one : kServedByLayer) {
      known += (known.empty() ? "" : ", ") + std::string(one.family);
    }
    refuse("one of " + known, source.family);
  }
  if (std::ranges::any_of(source.windows, [](Index window) { return window > 0; })) {
    refuse("a model without windows of its own", source.family + " with windows");
  }
  for (const char* bias : {"attention_bias", "mlp_bias"}) {
    const auto& config = checkpoint->config().json();
    if (config.contains(bias) && config.at(bias) == true)
      refuse("a model without biases", std::string(bias) + ": true");
  }
}

void export_layers(const AttentionPlan& plan, const SourceInfo& source,
                   const Checkpoint& checkpoint, ExportFolder& folder) {
  std::optional<Index> size;
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (int layer = 0; layer < plan.heads.layers(); ++layer) {
    const auto window = window_of(plan, layer);
    types.push_back(window ? "sliding_attention" : "full_attention");
    if (window && size && *window != *size) {
      throw UnsupportedError(fault(fmt::format("layer {}", layer),
                                   fmt::format("a window of {} keys, as in a layer before", *size),
                                   fmt::format("one of {}", *window),
                                   "make a plan with one size of window"));
    }
    if (window) size = window;
  }
  const Served& as = *served(source);
  HfFolder hf(checkpoint, folder);
  hf.config["model_type"] = as.model_type;
  hf.config["architectures"] = {as.architecture};
  hf.config["layer_types"] = types;
  // Ministral needs a size, even where no layer has a window.
  hf.config["sliding_window"] = size.value_or(kNoWindow);
  if (as.has_switch) hf.config["use_sliding_window"] = size.has_value();
  // What a config of Llama may leave to its class has other defaults in Ministral.
  const auto state = [&](const char* key, const nlohmann::ordered_json& value) {
    if (!hf.config.contains(key) || hf.config.at(key).is_null()) hf.config[key] = value;
  };
  state("head_dim", source.head_dim);
  state("num_key_value_heads", source.kv_heads);
  if (source.trained_length > 0) state("max_position_embeddings", source.trained_length);
  hf.finish(plan,
            "AutoModelForCausalLM.from_pretrained(FOLDER)\n"
            "    python -m vllm.entrypoints.openai.api_server --model FOLDER "
            "--model-impl transformers");
}

}  // namespace headgauge
