#include "plan/hf_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <vector>

#include "base/strict_json.hpp"
#include "checkpoint/gguf.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/metric_names.hpp"
#include "results/value_or.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kPlan = "plan.json";
constexpr const char* kGeneration = "generation_config.json";
constexpr const char* kWeights = "model.safetensors";  // where transformers looks first

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

std::string card(const AttentionPlan& plan, const std::string& load, const std::string& gguf) {
  const auto found = plan.measured.find("measured");
  const std::string rows = found == plan.measured.end() ? "" : rows_of(*found);
  std::string text = "---\nlibrary_name: transformers\ntags: [headgauge]\n---\n";
  text += fmt::format("# {} under a plan of headgauge\n\n",
                      fs::path(plan.model.name.value_or("A model")).filename().string());
  text += "Each key-value head keeps only the keys that plan.json names. Load it by\n\n    " +
          load + "\n";
  if (!gguf.empty()) {
    text += fmt::format("    AutoTokenizer.from_pretrained(FOLDER, gguf_file=\"{}\")\n", gguf);
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

// Removes the links and the weights of an earlier export, which may be of another model.
void clear(const std::string& folder, const ResolvedModel& model) {
  std::error_code none;
  if (fs::equivalent(folder, model.folder, none)) {
    throw UsageError(
        fault(folder, "another folder than the model's", "the same", ExportFolder::kAdvice));
  }
  if (!fs::is_directory(folder, none) || fs::is_empty(folder)) return;
  if (!fs::exists(fs::path(folder) / kPlan)) {
    throw UsageError(fault(folder, "no folder, or one of an earlier export", "other files",
                           ExportFolder::kAdvice));
  }
  std::vector<fs::path> old = {fs::path(folder) / kWeights, fs::path(folder) / kGeneration};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_symlink()) old.push_back(entry.path());
  }
  for (const fs::path& file : old) {
    std::error_code error;
    fs::remove(file, error);
    if (error) {
      throw ResourceError(fault(file.string(), "a file of an earlier export to remove",
                                error.message(), ExportFolder::kAdvice));
    }
  }
}

// Links the files of the checkpoint that are not written here.
void link_files(const ResolvedModel& model, ExportFolder& folder) {
  const fs::path weights = model.weights.front();
  if (model.gguf) return link(weights, weights.filename().string(), folder);
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(model.folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<std::string> given = {"config.json", "README.md", kPlan};
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
Json special_tokens(const ResolvedModel& model, const Json& config) {
  if (!model.gguf) return {};
  const Gguf file = Gguf::open(model.weights.front());
  const Index vocabulary = config.at("vocab_size");
  const auto id = [&](const char* name) -> Json {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    const GgufValue* found = file.find(key);
    if (found == nullptr) return {};
    if (found->scalar.is_number_unsigned() &&
        found->scalar.get<std::uint64_t>() < static_cast<std::uint64_t>(vocabulary)) {
      return Json(found->scalar);
    }
    throw BadInputError(fault(file.where(key), fmt::format("a token below {}", vocabulary),
                              found->summary(), "fetch the file again"));
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

ExportFolder cleared(const std::string& folder, const ResolvedModel& model) {
  clear(folder, model);
  return ExportFolder(folder);
}

}  // namespace

HfFolder::HfFolder(const Checkpoint& checkpoint, const std::string& folder)
    : config(checkpoint.config().json()),
      tokens_(special_tokens(checkpoint.model(), config)),
      folder_(cleared(folder, checkpoint.model())) {
  const ResolvedModel& model = checkpoint.model();
  link_files(model, folder_);
  if (!model.gguf) return;
  gguf_ = fs::path(model.weights.front()).filename().string();
  write_weights(checkpoint, folder_);
  config["dtype"] = "float32";
  config.update(tokens_);
  write(kGeneration, json_text(tokens_, 1) + "\n");
}

PlanExport HfFolder::finish(const AttentionPlan& plan, const std::string& load) {
  write("config.json", json_text(config, 1) + "\n");
  write(kPlan, plan_text(plan));
  write("README.md", card(plan, load, gguf_));
  return folder_.done;
}

}  // namespace headgauge
