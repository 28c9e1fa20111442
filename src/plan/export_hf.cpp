#include "plan/export_hf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/strict_json.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/model.hpp"
#include "headgauge/patterns.hpp"
#include "plan/embedded_text.hpp"
#include "plan/export_folder.hpp"
#include "results/value_or.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::array kServed = {"gpt2", "llama", "mistral", "qwen2"};  // that tests serve

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

void require_served(const AttentionPlan& plan, const SourceInfo& source,
                    const Checkpoint& checkpoint) {
  if (checkpoint.config().has("auto_map")) {
    throw UnsupportedError(fault(checkpoint.config().where("auto_map"),
                                 "a model of transformers itself", "code of the model's own",
                                 "export it for another tool"));
  }
  if (summarize_model(checkpoint).score_cap > 0) {
    throw UnsupportedError(fault("hf", "scores of queries and keys alone",
                                 source.family + ", whose scores are capped",
                                 "PyTorch's kernels cannot cap scores: use headgauge.use()"));
  }
  plan.heads.each([&](int layer, int head, const HeadPlan& of_head) {
    if (of_head.normalizer.empty() || source.windows.empty()) return;
    if (source.windows[static_cast<std::size_t>(layer)] == 0) return;
    throw UnsupportedError(fault(fmt::format("key-value head {}.{}", layer, head),
                                 "a running mean of all values, in a layer without a window",
                                 "one in a layer with a window", "make a plan of windows alone"));
  });
}

std::string with_base(const std::string& base) {
  std::string text(modeling_text());
  constexpr std::string_view kBase = "BASE = \"llama\"";
  return text.replace(text.find(kBase), kBase.size(), fmt::format("BASE = \"{}\"", base));
}

// Rows of the table: what was measured of the plan, with 95 % intervals. A plan file may say
// anything; what is no number is left out.
std::string rows_of(const Json& measured) {
  std::string rows;
  const auto row = [&](const Json& of, const std::string& what, const std::string& key,
                       const std::string& prefix, const auto& shown) {
    const double value = value_or(of, key, kUndefined);
    if (std::isnan(value)) return;
    rows += fmt::format("| {} | {} ({} to {}) |\n", what, shown(value),
                        shown(value_or(of, prefix + "low", kUndefined)),
                        shown(value_or(of, prefix + "high", kUndefined)));
  };
  const auto nats = [](double value) { return fmt::format("{:+.3f}", value); };
  const auto percent = [](double value) { return fmt::format("{:.0f} %", 100 * value); };
  const double share = value_or(measured, "cache_share", kUndefined);
  if (!std::isnan(share)) rows += fmt::format("| cache kept | {:.1f} % |\n", 100 * share);
  row(measured, "loss of text, nats", metric::loss_change, "", nats);
  row(measured, "loss of a passage that comes again, nats", "replay_change", "replay_change_",
      nats);
  const auto tasks = measured.find("answers");
  if (tasks == measured.end() || !tasks->is_object()) return rows;
  for (const auto& [task, answers] : tasks->items()) {
    row(answers, "loss of the answers of " + task + ", nats", "change", "change_", nats);
    row(answers, "right answers of " + task + " that stay right", "kept", "kept_", percent);
  }
  return rows;
}

std::string card(const AttentionPlan& plan, const std::string& tokenizer) {
  const auto found = plan.measured.find("measured");
  const std::string rows = found == plan.measured.end() ? "" : rows_of(*found);
  std::string text = "---\nlibrary_name: transformers\ntags: [headgauge]\n---\n";
  text += fmt::format("# {} under a plan of headgauge\n\n",
                      fs::path(plan.model.name.value_or("A model")).filename().string());
  text +=
      "Each key-value head keeps only the keys that plan.json names. Load it by\n\n"
      "    AutoModelForCausalLM.from_pretrained(FOLDER, trust_remote_code=True)\n";
  if (!tokenizer.empty()) {
    text += fmt::format("    AutoTokenizer.from_pretrained(FOLDER, gguf_file=\"{}\")\n", tokenizer);
  }
  if (rows.empty()) return text;
  text += fmt::format(
      "\nheadgauge measured, at a context of {} tokens, on texts and tasks that had no part in "
      "making\nthe plan, with 95 % intervals:\n\n| | change |\n|---|---|\n{}",
      plan.context, rows);
  return text + "\nAnother context length, or another kind of text, is not shown by this.\n";
}

void link(const fs::path& to, ExportFolder& folder) {
  const std::string path = folder.path(to.filename().string());
  std::error_code error;
  if (fs::is_symlink(path)) fs::remove(path, error);
  if (!error) fs::create_symlink(fs::absolute(to), path, error);
  if (error) {
    throw ResourceError(
        fault(path, "a link to " + to.string(), error.message(), ExportFolder::kAdvice));
  }
  folder.done.files.push_back(path);
}

// Links the files of the checkpoint that are not written here.
void link_files(const ResolvedModel& model, ExportFolder& folder) {
  if (model.gguf) return link(model.weights.front(), folder);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(model.folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  constexpr std::array kWritten = {"config.json", "README.md", "plan.json"};
  for (const fs::path& file : files) {
    if (std::ranges::count(kWritten, file.filename().string()) > 0) continue;
    if (fs::is_regular_file(file)) link(file, folder);
  }
}

// A GGUF file has quantised weights in an order of its own.
void write_weights(const Checkpoint& checkpoint, ExportFolder& folder) {
  std::vector<AlignedVector<float>> values;
  std::vector<TensorData> tensors;
  for (const std::string_view name : checkpoint.names()) {
    const TensorView& view = *checkpoint.find(name);
    AlignedVector<float>& widened = values.emplace_back(static_cast<std::size_t>(view.elements()));
    view.widen(widened);
    tensors.push_back(float_tensor(std::string(name), view.shape, widened));
  }
  const std::string path = folder.path("model.safetensors");
  write_safetensors(path, tensors, {{"format", "pt"}});
  folder.done.files.push_back(path);
}

}  // namespace

PlanExport export_hf(const AttentionPlan& plan, const SourceInfo& source,
                     const Checkpoint& checkpoint, const std::string& folder) {
  require_served(plan, source, checkpoint);
  ExportFolder hf(folder);
  const bool gguf = checkpoint.model().gguf;
  link_files(checkpoint.model(), hf);
  if (gguf) write_weights(checkpoint, hf);
  Json config = checkpoint.config().json();
  const std::string base = config.at("model_type");
  config["model_type"] = "headgauge_" + base;
  config["architectures"] = {"HeadgaugeForCausalLM"};
  config["auto_map"] = {{"AutoConfig", "modeling_headgauge.HeadgaugeConfig"},
                        {"AutoModelForCausalLM", "modeling_headgauge.HeadgaugeForCausalLM"}};
  if (gguf) config["dtype"] = "float32";
  config["headgauge_plan"] = kinds_of(plan);
  hf.write("config.json", json_text(config, 1) + "\n");
  hf.write("modeling_headgauge.py", with_base(base));
  hf.write("plan.json", plan_text(plan));
  hf.write(
      "README.md",
      card(plan, gguf ? fs::path(checkpoint.model().weights.front()).filename().string() : ""));
  if (std::ranges::count(kServed, base) == 0) {
    hf.done.notices.push_back(
        fmt::format("hf: {} is not among the families that the export is tested with", base));
  }
  return hf.done;
}

}  // namespace headgauge
