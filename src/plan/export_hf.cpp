#include "plan/export_hf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/strict_json.hpp"
#include "checkpoint/gguf.hpp"
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

void require_no_window(const AttentionPlan& plan, const SourceInfo& source) {
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
    const double low = value_or(of, prefix + "low", kUndefined);
    const double high = value_or(of, prefix + "high", kUndefined);
    const bool bounded = std::isfinite(low) && std::isfinite(high);
    rows += fmt::format("| {} | {}{} |\n", what, shown(value),
                        bounded ? fmt::format(" ({} to {})", shown(low), shown(high)) : "");
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

void link(const fs::path& to, const std::string& name, ExportFolder& folder) {
  const std::string path = folder.path(name);
  std::error_code error;
  fs::create_symlink(fs::absolute(to), path, error);
  if (error) {
    throw ResourceError(
        fault(path, "a link to " + to.string(), error.message(), ExportFolder::kAdvice));
  }
  folder.done.files.push_back(path);
}

constexpr const char* kCode = "modeling_headgauge.py";
constexpr const char* kWeights = "model.safetensors";  // where transformers looks first

// Removes the links and the weights of an earlier export, which may be of another model.
void clear(const std::string& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none) || fs::is_empty(folder)) return;
  if (!fs::exists(fs::path(folder) / kCode)) {
    throw UsageError(fault(folder, "no folder, or one of an earlier export", "other files",
                           ExportFolder::kAdvice));
  }
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_symlink() || entry.path().filename() == kWeights) old.push_back(entry.path());
  }
  for (const fs::path& file : old) fs::remove(file);
}

// Links the files of the checkpoint that are not written here.
void link_files(const ResolvedModel& model, ExportFolder& folder) {
  const fs::path weights = model.weights.front();
  if (model.gguf) return link(weights, weights.filename().string(), folder);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(model.folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<std::string> given = {"config.json", "README.md", "plan.json"};
  if (model.index_file.empty()) {
    link(weights, kWeights, folder);
    given.insert(given.end(), {kWeights, weights.filename().string()});
  }
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (std::ranges::count(given, name) == 0 && fs::is_regular_file(file)) link(file, name, folder);
  }
}

// The special tokens that a GGUF file names, as config.json does. Generation ends with any of those
// that end a text, a turn or a message.
Json special_tokens(const Gguf& file) {
  const auto id = [&](const char* name) -> Json {
    const GgufValue* found = file.find(fmt::format("tokenizer.ggml.{}_token_id", name));
    return found == nullptr || found->is_list() ? Json() : Json(found->scalar);
  };
  Json tokens = Json::object(), ends = Json::array();
  for (const char* end : {"eos", "eot", "eom"}) {
    const Json one = id(end);
    if (!one.is_null() && std::ranges::count(ends, one) == 0) ends.push_back(one);
  }
  if (!ends.empty()) tokens["eos_token_id"] = ends.size() == 1 ? ends.front() : ends;
  if (const Json begin = id("bos"); !begin.is_null()) tokens["bos_token_id"] = begin;
  if (const Json padding = id("padding"); !padding.is_null()) tokens["pad_token_id"] = padding;
  return tokens;
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
  const std::string path = folder.path(kWeights);
  write_safetensors(path, tensors, {{"format", "pt"}});
  folder.done.files.push_back(path);
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

PlanExport export_hf(const AttentionPlan& plan, const SourceInfo& source,
                     const Checkpoint& checkpoint, const std::string& folder) {
  require_no_window(plan, source);
  const ResolvedModel& model = checkpoint.model();
  if (std::error_code none; fs::equivalent(folder, model.folder, none)) {
    throw UsageError(
        fault(folder, "another folder than the model's", "the same", ExportFolder::kAdvice));
  }
  clear(folder);
  ExportFolder hf(folder);
  link_files(model, hf);
  Json config = checkpoint.config().json();
  if (model.gguf) {
    write_weights(checkpoint, hf);
    config["dtype"] = "float32";
    const Json tokens = special_tokens(Gguf::open(model.weights.front()));
    config.update(tokens);
    hf.write("generation_config.json", json_text(tokens, 1) + "\n");
  }
  const std::string base = config.at("model_type");
  config["model_type"] = "headgauge_" + base;
  config["architectures"] = {"HeadgaugeForCausalLM"};
  config["auto_map"] = {{"AutoConfig", "modeling_headgauge.HeadgaugeConfig"},
                        {"AutoModelForCausalLM", "modeling_headgauge.HeadgaugeForCausalLM"}};
  config["headgauge_plan"] = kinds_of(plan);
  hf.write("config.json", json_text(config, 1) + "\n");
  hf.write(kCode, with_base(base));
  hf.write("plan.json", plan_text(plan));
  hf.write("README.md",
           card(plan, model.gguf ? fs::path(model.weights.front()).filename().string() : ""));
  if (std::ranges::count(kServed, base) == 0) {
    hf.done.notices.push_back(
        fmt::format("hf: {} is not among the families that the export is tested with", base));
  }
  return hf.done;
}

}  // namespace headgauge
