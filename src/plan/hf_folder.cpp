#include "plan/hf_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <vector>

#include "base/strict_json.hpp"
#include "checkpoint/gguf.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/metric_names.hpp"
#include "results/value_or.hpp"
#include "tokenize/tokenizer_json.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kPlan = "plan.json";
constexpr const char* kGeneration = "generation_config.json";
constexpr const char* kTemplates = "additional_chat_templates";  // a folder
constexpr const char* kWeights = "model.safetensors";            // where transformers looks first

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
  for (const auto& [name, answers] : tasks->items()) {
    const std::string task = in_markdown(name);
    row(answers, "loss of the answers of " + task + ", nats", "change", "change_", nats);
    row(answers, "right answers of " + task + " that stay right", "kept", "kept_", percent);
  }
  return rows;
}

std::string card(const AttentionPlan& plan, const std::string& load) {
  const auto found = plan.measured.find("measured");
  const std::string rows = found == plan.measured.end() ? "" : rows_of(*found);
  std::string text = "---\nlibrary_name: transformers\ntags: [headgauge]\n---\n";
  text +=
      fmt::format("# {} under a plan of headgauge\n\n",
                  in_markdown(fs::path(plan.model.name.value_or("A model")).filename().string()));
  text += "Each key-value head keeps only the keys that plan.json names. Load it by\n\n    " +
          load + "\n";
  if (rows.empty()) return text;
  text += fmt::format(
      "\nheadgauge measured, at a context of {} tokens, on texts and tasks that had no part in "
      "making\nthe plan, with 95 % intervals:\n\n| | change |\n|---|---|\n{}",
      plan.context, rows);
  return text + "\nAnother context length, or another kind of text, is not shown by this.\n";
}

// Whether a file beside the weights belongs to the model: what transformers and servers read, and
// what its licence asks to keep with it.
bool is_of_model(const std::string& name) {
  // clang-format off
  constexpr std::array kNames = {
      kGeneration, "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
      "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt", "tokenizer.model",
      "sentencepiece.bpe.model", "spiece.model", "tekken.json", "chat_template.json",
      "chat_template.jinja", "processor_config.json", "preprocessor_config.json",
      "video_preprocessor_config.json", "vocab.bpe", "spm.model", kTemplates};
  constexpr std::array<std::string_view, 5> kTerms = {"LICENSE", "LICENCE", "COPYING", "NOTICE",
                                                      "USE_POLICY"};
  // clang-format on
  // LICENSE, LICENSE.md, LICENSE-APACHE
  std::string upper = name.substr(0, name.find_first_of(".-"));
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return std::ranges::count(kNames, name) > 0 || std::ranges::count(kTerms, upper) > 0;
}

// Links the weights of the checkpoint and the files that belong to it, and says what it leaves out.
void link_files(const ResolvedModel& model, ExportFolder& folder) {
  const std::string index = fs::path(model.index_file).filename().string();  // empty: one file
  std::vector<std::string> given = {"config.json", "README.md", kPlan}, left_out;
  for (const std::string& weights : model.weights) {
    given.push_back(fs::path(weights).filename().string());
    folder.link(weights, index.empty() ? kWeights : given.back());
  }
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(model.folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    const std::string name = file.filename().string();
    if (std::ranges::count(given, name) > 0) continue;
    const bool is_folder = fs::is_directory(file) && name != kTemplates;
    if (name == index || (is_of_model(name) && !is_folder)) {
      folder.link(file.string(), name);
    } else {
      left_out.push_back(name);
    }
  }
  if (left_out.empty()) return;
  folder.done.notices.push_back(fmt::format("{}: not linked, as no part of the model: {}",
                                            model.folder, fmt::join(left_out, ", ")));
}

// The special tokens that a GGUF file names, as config.json does. Generation ends with any of those
// that end a text, a turn or a message.
Json special_tokens(const Gguf& file, const Json& config) {
  const Index vocabulary = config.at("vocab_size");
  const auto id = [&](const char* name) -> Json {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", name);
    const GgufValue* found = file.find(key);
    if (found == nullptr) {  // what the tokenizer takes, too
      const GgufValue* kind = file.find("tokenizer.ggml.model");
      const bool is_sentencepiece = kind != nullptr && kind->scalar == "llama";
      const std::string_view token = name;
      if (is_sentencepiece && (token == "bos" || token == "eos")) return token == "bos" ? 1 : 2;
      return {};
    }
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

// Writes the tokenizer of a GGUF file, as AutoTokenizer loads it; a notice says why it cannot.
void write_tokenizer(const Gguf& file, const Json& tokens, ExportFolder& folder) {
  std::string text;
  try {
    text = gguf_tokenizer_json(file);
  } catch (const Error& error) {
    const std::string reason = error.what();  // without its advice, on another command
    folder.done.notices.push_back("no tokenizer is written: " +
                                  reason.substr(0, reason.rfind("; ")));
    return;
  }
  folder.write("tokenizer.json", text);
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false}};
  const auto& texts = file.find("tokenizer.ggml.tokens")->texts();
  for (const char* name : {"bos", "eos", "pad"}) {
    Json id = tokens.value(fmt::format("{}_token_id", name), Json());
    if (id.is_array()) id = id.front();
    if (id.is_number() && id < texts.size()) {
      config[fmt::format("{}_token", name)] = texts[id.get<std::size_t>()];
    }
  }
  folder.write("tokenizer_config.json", json_text(config, 1) + "\n");
  const GgufValue* chat = file.find("tokenizer.chat_template");
  if (chat == nullptr || !chat->scalar.is_string()) return;
  folder.write("chat_template.jinja", chat->scalar.get<std::string>());
}

// A GGUF file has quantised weights in an order of its own.
void write_weights(const Checkpoint& checkpoint, ExportFolder& folder) {
  std::vector<AlignedVector<float>> values;
  std::vector<TensorData> tensors;
  for (const std::string_view name : checkpoint.names()) {
    const TensorView& view = *checkpoint.find(name);
    folder.require_going();
    AlignedVector<float>& widened = values.emplace_back(static_cast<std::size_t>(view.elements()));
    view.widen(widened);
    tensors.push_back(float_tensor(std::string(name), view.shape, widened));
  }
  write_safetensors(folder.add(kWeights), tensors, {{"format", "pt"}});
}

}  // namespace

HfFolder::HfFolder(const Checkpoint& checkpoint, ExportFolder& folder)
    : config(checkpoint.config().json()), folder_(folder) {
  if (checkpoint.gguf() == nullptr) {
    link_files(checkpoint.model(), folder_);
    return;
  }
  const Json tokens = special_tokens(*checkpoint.gguf(), config);
  write_tokenizer(*checkpoint.gguf(), tokens, folder_);
  write_weights(checkpoint, folder_);
  config["dtype"] = "float32";
  config.update(tokens);
  write(kGeneration, json_text(tokens, 1) + "\n");
}

void HfFolder::finish(const AttentionPlan& plan, const std::string& load) {
  write("config.json", json_text(config, 1) + "\n");
  write(kPlan, plan_text(plan));
  write("README.md", card(plan, load));
}

}  // namespace headgauge
