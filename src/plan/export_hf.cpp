
#include "plan/hf_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/embed.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/model.hpp"
#include "headgauge/patterns.hpp"

HEADGAUGE_EMBED(modeling, HEADGAUGE_MODELING);
HEADGAUGE_EMBED(held_heads, HEADGAUGE_HELD_HEADS);

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kServed = {"gemma3_text", "gpt2", "llama", "mistral",
                                "qwen2"};  // that tests serve

// Returns [first, last], "mean" or null, as modeling_headgauge.py reads them.
Json kind_of(const HeadPlan& head) {
  if (!head.changes()) return nullptr;
  if (!head.normalizer.empty()) return "mean";
  const auto kept = *make_pattern(head.pattern, "pattern of a plan")->first_and_last();
  return {kept.first, kept.last};
}

Json kinds_of(const AttentionPlan& plan) {
  Json layers = Json::array();
  for (int layer = 0; layer < plan.heads.layers(); ++layer) {
    Json& of_layer = layers.emplace_back(Json::array());
    for (int head = 0; head < plan.heads.heads(); ++head) {
      of_layer.push_back(kind_of(plan.heads(layer, head)));
    }
  }
  return layers;
}

void require_no_window(const AttentionPlan& plan, const SourceInfo& source) {
  plan.heads.each([&](int layer, int head, const HeadPlan& of_head) {
    if (of_head.normalizer.empty() || source.windows.empty()) return;
    if (source.windows[static_cast<std::size_t>(layer)] == 0) return;
    throw UnsupportedError(fault(fmt::format("key-value head {}.{}", layer, head),
                                 "a running mean of all values, in a layer without a window",
                                 "one in a layer with a window", "make a plan of windows alone"));
  });
}

// Returns modeling_headgauge.py with _held_heads.py in it, for this type of model.
std::string modeling_text(const std::string& base) {
  constexpr std::string_view kImport =
      "from headgauge._held_heads import HeldLayer, NewTokens, updated\n";
  constexpr std::string_view kBase = "BASE = \"llama\"";
  std::string_view held = HEADGAUGE_EMBEDDED(held_heads);
  held = held.substr(held.find("import threading"));  // past its title
  std::string text(HEADGAUGE_EMBEDDED(modeling));
  text.replace(text.find(kImport), kImport.size(), held);
  return text.replace(text.find(kBase), kBase.size(), fmt::format("BASE = \"{}\"", base));
}

}  // namespace

void require_served(const SourceInfo& source, const Checkpoint* checkpoint) {
  if (checkpoint == nullptr) {
    throw UnsupportedError(fault("hf", "a checkpoint with files", source.name + ", a live model",
                                 "save the model, and export the plan of its folder"));
  }
  if (checkpoint->config().has("auto_map")) {
    throw UnsupportedError(fault(checkpoint->config().where("auto_map"),
                                 "a model of transformers itself", "code of the model's own",
                                 "export it for another tool"));
  }
  if (summarize_model(*checkpoint).score_cap > 0) {
    throw UnsupportedError(fault("hf", "scores of queries and keys alone",
                                 source.family + ", whose scores are capped",
                                 "PyTorch's kernels cannot cap scores: use headgauge.use()"));
  }
}

void export_hf(const AttentionPlan& plan, const SourceInfo& source, const Checkpoint& checkpoint,
               ExportFolder& folder) {
  require_no_window(plan, source);
  HfFolder hf(checkpoint, folder);
  const std::string base = hf.config.at("model_type");
  hf.config["model_type"] = "headgauge_" + base;
  hf.config["architectures"] = {"HeadgaugeForCausalLM"};
  hf.config["auto_map"] = {{"AutoConfig", "modeling_headgauge.HeadgaugeConfig"},
                           {"AutoModelForCausalLM", "modeling_headgauge.HeadgaugeForCausalLM"}};
  hf.config["headgauge_plan"] = kinds_of(plan);
  hf.write("modeling_headgauge.py", modeling_text(base));
  hf.finish(plan, "AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)");
  if (std::ranges::count(kServed, base) == 0) {
    folder.done.notices.push_back(
        fmt::format("hf: {} is not among the families that the export is tested with", base));
  }
}

}  // namespace headgauge
