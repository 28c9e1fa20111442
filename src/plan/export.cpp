// Plans for other tools; see plan.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "headgauge/checkpoint.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/plan.hpp"
#include "headgauge/text.hpp"
#include "plan/export_folder.hpp"
#include "plan/hf_folder.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;

// hf-layers: a plan of whole layers as a config.json that transformers itself serves.

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

// Throws UnsupportedError for a model that no class of transformers gives windows by layer.
// `checkpoint`: null for a live model.
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

// Writes a folder (HfFolder) whose config.json has layer_types and sliding_window. The model is one
// that require_served_by_layer() lets pass, and not_exported() finds nothing in the heads. Throws
// UnsupportedError if heads of a layer, or windows of two layers, differ.
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

struct Format {
  const char* name;
  PlanFormat format;
  const char* tool;
};
constexpr std::array kFormats = {
    Format{"hf", PlanFormat::hf, "the code for transformers"},
    Format{"hf-layers", PlanFormat::hf_layers, "transformers without code"}};

const Format& described(PlanFormat format) {
  return *std::ranges::find(kFormats, format, &Format::format);
}

constexpr Index kLeastWindow = 16;  // keys of the default window of whole layers

// Whether the tool can keep the sum of a head's values, for a running mean.
bool does_means(PlanFormat format) {
  return format == PlanFormat::hf;
}

// The same in every layer of the model: a head that has a window of its own has no running mean.
bool does_means(PlanFormat format, const SourceInfo& source) {
  return does_means(format) && std::ranges::all_of(source.windows, [](Index w) { return w == 0; });
}

// What the tool can do, for messages.
std::string able(PlanFormat format) {
  if (format == PlanFormat::hf_layers) return "a window without sinks or full attention";
  return "sinks, window, uniform or full attention";
}

void require_exported(const AttentionPlan& plan, PlanFormat format) {
  plan.heads.each([&](int layer, int head, const HeadPlan& of_head) {
    const std::string what = not_exported(of_head, format);
    if (what.empty()) return;
    throw UnsupportedError(
        fault(fmt::format("key-value head {}.{}", layer, head),
              fmt::format("{}, which {} can do", able(format), described(format).tool), what,
              "make a plan of windows alone"));
  });
}

std::string folder_of(const std::string& folder, PlanFormat format) {
  return (fs::path(folder) / described(format).name).string();
}

// Makes the search one of whole layers, with one size of window.
void search_by_layer(PlanOptions& options, const SourceInfo& source) {
  options.whole_layers = true;
  if (options.patterns.size() > 1) {
    throw UsageError(fault("PlanOptions::patterns", "one size of window for all layers",
                           fmt::format("{} patterns", options.patterns.size()),
                           "leave the others out, or the export"));
  }
  if (options.patterns.empty()) {
    const Index context = std::ranges::max(source.documents);
    const Index size = std::max(std::min(kLeastWindow, context / 2), context / 8);
    options.patterns = {fmt::format("window:size={}", size)};
  }
}

}  // namespace

PlanFormat plan_format(const std::string& name, const std::string& option) {
  std::vector<std::string> names;
  for (const Format& known : kFormats) {
    if (name == known.name) return known.format;
    names.emplace_back(known.name);
  }
  throw UsageError(fault(option, "one of " + plan_format_names(),
                         in_quotes(name) + did_you_mean(name, names),
                         "name formats alone; Run::out is the folder of their files"));
}

std::string plan_format_names() {
  std::string names;
  for (const Format& known : kFormats)
    names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

std::string not_exported(const HeadPlan& head, PlanFormat format) {
  if (does_means(format) && head.pattern.empty() && head.normalizer == "uniform") return {};
  if (!head.normalizer.empty()) return "the normalizer " + head.normalizer;
  if (head.pattern.empty()) return {};
  const auto kept = make_pattern(head.pattern, "pattern of a plan")->first_and_last();
  const bool fits = kept && (format != PlanFormat::hf_layers || kept->first == 0);
  return fits ? "" : "the pattern " + head.pattern;
}

std::vector<std::string> keep_exportable(PlanOptions& options,
                                         const std::vector<PlanFormat>& formats,
                                         const SourceInfo& source) {
  for (const PlanFormat format : formats) {
    const auto require = [&](const HeadPlan& head, const char* option) {
      std::string what = not_exported(head, format);
      if (what.empty() && head.normalizer == "uniform" && !does_means(format, source)) {
        what = "running means in a model with windows of its own";
      }
      if (what.empty()) return;
      throw UsageError(fault(option, fmt::format("what {} can do", described(format).tool), what,
                             "leave it out, or the export"));
    };
    for (const std::string& pattern : options.patterns) {
      require({pattern, ""}, "PlanOptions::patterns");
    }
    for (const std::string& normalizer : options.normalizers) {
      if (normalizer != "softmax") require({"", normalizer}, "PlanOptions::normalizers");
    }
  }
  if (std::ranges::count(formats, PlanFormat::hf_layers) > 0) search_by_layer(options, source);
  if (formats.empty() || !options.normalizers.empty()) return {};
  const auto without = std::ranges::find_if_not(
      formats, [&](PlanFormat format) { return does_means(format, source); });
  if (without == formats.end()) {
    options.normalizers = {"uniform"};
    return {};
  }
  options.normalizers = {"softmax"};
  return {fmt::format("no normalizer is tried: {} has none{}", described(*without).tool,
                      does_means(*without) ? " in a model with windows of its own" : "")};
}

void require_exportable(const std::vector<PlanFormat>& formats, const SourceInfo& source,
                        const Checkpoint* checkpoint, const std::string& folder) {
  for (const PlanFormat format : formats) {
    if (!source.causal) {
      throw UnsupportedError(fault(described(format).name, "a model that decodes token by token",
                                   source.family + ", which reads both ways",
                                   "plan the cache of a decoder"));
    }
    if (format == PlanFormat::hf) require_served(source, checkpoint);
    if (format == PlanFormat::hf_layers) require_served_by_layer(source, checkpoint);
    if (!folder.empty()) require_own_export(folder_of(folder, format));
  }
}

PlanExport export_plan(const AttentionPlan& plan, PlanFormat format, const SourceInfo& source,
                       const std::string& folder, const Checkpoint* checkpoint,
                       const std::stop_token& stop) {
  require_exported(plan, format);
  require_exportable({format}, source, checkpoint, {});
  ExportFolder to(folder_of(folder, format), stop);
  if (format == PlanFormat::hf) export_hf(plan, source, *checkpoint, to);
  if (format == PlanFormat::hf_layers) export_layers(plan, source, *checkpoint, to);
  return to.commit();
}

}  // namespace headgauge
