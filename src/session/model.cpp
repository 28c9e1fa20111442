#include <filesystem>
#include <utility>

#include "headgauge/results.hpp"
#include "headgauge/session.hpp"

namespace headgauge {

Model::Model(std::string name) : name_(std::move(name)), resolved_(resolve_model(name_)) {}

Model::Model(std::shared_ptr<CustomModel> own) : own_(std::move(own)) {}

Model::Model(std::shared_ptr<HeadSource> heads) : heads_(std::move(heads)) {}

bool Model::has_own_queries() const {
  return heads_ != nullptr || (own_ == nullptr && resolved_.kind == ResolvedModel::Kind::dump);
}

const Checkpoint& Model::checkpoint() const {
  if (checkpoint_ == nullptr) checkpoint_ = std::make_shared<const Checkpoint>(resolved_);
  return *checkpoint_;
}

const ModelSummary& Model::summary() const {
  if (!summary_) summary_ = own_ != nullptr ? own_->summary() : summarize_model(checkpoint());
  return *summary_;
}

void Model::hold() {
  if (own_ != nullptr || has_own_queries()) return;
  checkpoint();
  is_held_ = true;
}

void Model::require_unchanged() const {
  if (is_held_) checkpoint().require_unchanged();
}

void Model::describe(Results& results) const {
  if (!is_held_) return;
  results.model.config_sha256 = checkpoint().config().sha256();
  results.model.weights_sha256 = checkpoint().weights_sha256();
}

bool Model::has_tokenizer() const {
  return has_name() && Tokenizer::kind(resolved_.tokenizer()) != "none";
}

Tokenizer Model::tokenizer() const {
  if (own_ == nullptr) {
    Tokenizer read = Tokenizer::load(checkpoint());
    *tokenizer_notice_ = read.notice();
    return read;
  }
  throw UsageError(
      fault("text", "token ids for a live model", "a text", "give tokenizer(text)['input_ids']"));
}

std::vector<std::string> Model::files() const {
  std::vector<std::string> files = resolved_.weights;
  files.push_back(name_);
  if (resolved_.config_file.empty()) return files;
  files.push_back(resolved_.folder);
  std::error_code none;  // opening the model reported the error
  for (const auto& entry : std::filesystem::directory_iterator(resolved_.folder, none)) {
    // A link leads to a file elsewhere.
    if (entry.is_regular_file(none)) files.push_back(entry.path().string());
  }
  return files;
}

std::string Model::tokenizer_path() const {
  return has_name() ? resolved_.tokenizer() : "";
}

std::shared_ptr<HeadSource> Model::open(const SourceOptions& options) const {
  if (heads_ != nullptr) return heads_;
  return make_dump_source(resolved_, options);
}

std::unique_ptr<HeadSource> Model::open(std::vector<Document> documents,
                                        const SourceOptions& options) const {
  if (own_ != nullptr) return own_->open(std::move(documents), options.x);
  require_unchanged();
  return make_model_source(checkpoint(), std::move(documents), options);
}

}  // namespace headgauge
