#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/sha256.hpp"
#include "base/strict_json.hpp"

#include "checkpoint/gguf.hpp"
#include "checkpoint/shard_index.hpp"
#include "headgauge/checkpoint.hpp"

namespace headgauge {
namespace {

ConfigReader open_config(const ResolvedModel& model) {
  if (model.gguf) return ConfigReader("{}", "");  // set when the file is opened
  if (model.kind == ResolvedModel::Kind::checkpoint) return ConfigReader::open(model.config_file);
  throw UsageError(fault(model.name, "a checkpoint", "a dump file", "read it as a dump"));
}

}  // namespace

Checkpoint::Checkpoint(const ResolvedModel& model) : model_(model), config_(open_config(model)) {
  if (model_.gguf) {
    open_gguf();
  } else {
    open_safetensors();
    take_text_part();
  }
}

// Leaves the text part of a Gemma 3 that also reads images, under the names of one that does not.
void Checkpoint::take_text_part() {
  if (config_.get_or<std::string>("model_type", "") != "gemma3") return;
  config_ = config_.child("text_config",
                          {"quantization_config", "tie_word_embeddings", "transformers_version"});
  std::map<std::string, TensorView, std::less<>> of_text;
  for (const auto& [name, tensor] : tensors_) {
    // The names of transformers 4, of transformers 5, and of a head.
    for (const auto& [prefix, plain] : {std::pair{"language_model.model.", "model."},
                                        {"model.language_model.", "model."},
                                        {"language_model.lm_head.", "lm_head."},
                                        {"lm_head.", "lm_head."}}) {
      if (!name.starts_with(prefix)) continue;
      of_text.emplace(plain + name.substr(std::string_view(prefix).size()), tensor);
      break;
    }
  }
  notices_.push_back(
      fmt::format("{} also reads images: only its text part is measured ({} of {} tensors)",
                  model_.name, of_text.size(), tensors_.size()));
  tensors_ = std::move(of_text);
}

void Checkpoint::open_gguf() {
  gguf_ = std::make_shared<const Gguf>(Gguf::open(model_.weights.front()));
  GgufModel found = translate_gguf(*gguf_);
  config_ = ConfigReader(found.config, gguf_->path() + ": metadata", std::move(found.keys));
  tensors_ = std::move(found.tensors);
  notices_ = std::move(found.notices);
  weights_sha256_ = gguf_->sha256();
}

void Checkpoint::open_safetensors() {
  for (const std::string& path : model_.weights) files_.push_back(Safetensors::open(path));
  std::string sums;
  for (const Safetensors& file : files_) sums += file.sha256();
  weights_sha256_ = files_.size() == 1 ? sums : sha256_hex(std::as_bytes(std::span(sums)));

  if (model_.index_file.empty()) {
    for (const TensorView& tensor : files_.front().tensors()) tensors_.emplace(tensor.name, tensor);

    return;
  }
  const ShardIndex index = read_shard_index(model_.index_file);
  std::map<std::string, const Safetensors*> shards;
  for (const Safetensors& file : files_) shards[file.path()] = &file;

  for (const auto& [name, file] : index.file_of) {
    const auto shard = shards.find((std::filesystem::path(model_.folder) / file).string());
    const TensorView* tensor = shard == shards.end() ? nullptr : shard->second->find(name);
    refuse_if(tensor == nullptr, model_.folder + "/" + file,
              "the tensor " + in_quotes(name) + " that the index names", "no tensor of that name",
              "index and shards must come from the same model");
    tensors_.emplace(name, *tensor);
  }
}

bool Checkpoint::are_equal(const TensorView& a, const TensorView& b) const {
  const auto [found, is_new] = compared_->try_emplace({a.bytes.data(), b.bytes.data()});
  if (is_new) found->second = std::ranges::equal(a.bytes, b.bytes);
  return found->second;
}

const TensorView* Checkpoint::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

bool Checkpoint::has_prefix(std::string_view prefix) const {
  const auto it = tensors_.lower_bound(prefix);
  return it != tensors_.end() && it->first.starts_with(prefix);
}

const TensorView& Checkpoint::require(std::string_view name, std::span<const Index> shape) const {
  const TensorView* tensor = find(name);
  if (tensor == nullptr) {
    const std::string& where =
        model_.index_file.empty() ? model_.weights.front() : model_.index_file;
    const std::string list =
        tensors_.empty() ? "" : ", such as " + in_quotes(tensors_.begin()->first);
    const std::string behind = "." + std::string(name);
    const bool wrapped = std::ranges::any_of(
        tensors_, [&](const auto& entry) { return entry.first.ends_with(behind); });
    throw BadInputError(fault(
        where, "a tensor " + in_quotes(name) + " of shape " + shape_text(shape),
        "no tensor of that name among " + std::to_string(tensors_.size()) + list,
        wrapped ? "save the model itself, without a wrapper, by save_pretrained() of transformers"
                : "weights and config must come from the same model"));
  }
  tensor->require_shape(shape);
  return *tensor;
}

const TensorView& Checkpoint::require(std::string_view name,
                                      std::initializer_list<Index> shape) const {
  return require(name, std::span<const Index>(shape.begin(), shape.size()));
}

std::vector<std::string_view> Checkpoint::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  return names;
}

std::size_t Checkpoint::bytes() const {
  std::size_t total = 0;
  for (const auto& [name, tensor] : tensors_) total += tensor.bytes.size();
  return total;
}

std::map<std::string, std::string> Checkpoint::metadata() const {
  std::map<std::string, std::string> metadata;
  if (gguf_ == nullptr) return metadata;
  for (const auto& [key, value] : gguf_->metadata()) metadata.emplace(key, value.summary());
  return metadata;
}

void Checkpoint::release() const noexcept {
  for (const auto& [name, tensor] : tensors_) tensor.release();
}

void Checkpoint::require_unchanged() const {
  if (gguf_ != nullptr) gguf_->require_unchanged();
  for (const Safetensors& file : files_) file.require_unchanged();
}

}  // namespace headgauge
