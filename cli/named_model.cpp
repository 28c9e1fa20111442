#include "cli/named_model.hpp"

#include <utility>

#include "cli/host.hpp"
#include "headgauge/results.hpp"

namespace headgauge::cli {

NamedModel::NamedModel(const std::string& name) {
  if (const Host* const program = host(); program != nullptr && program->model != nullptr) {
    host_ = program->model.get();
  } else {
    resolved_ = resolve_model(name);
  }
}

const Checkpoint& NamedModel::checkpoint() const {
  if (checkpoint_ == nullptr) checkpoint_ = std::make_shared<const Checkpoint>(resolved_);
  return *checkpoint_;
}

const ModelSummary& NamedModel::summary() const {
  if (!summary_) {
    summary_ = host_ != nullptr ? host_->summary() : summarize_model(checkpoint());
  }
  return *summary_;
}

void NamedModel::hold() {
  if (host_ != nullptr || is_dump()) return;
  checkpoint();
  is_held_ = true;
}

void NamedModel::describe(Results& results) const {
  if (!is_held_) return;
  results.model["config_sha256"] = checkpoint().config().sha256();
  results.model["weights_sha256"] = checkpoint().weights_sha256();
}

bool NamedModel::is_dump() const {
  return host_ == nullptr && resolved_.kind == ResolvedModel::Kind::dump;
}

void NamedModel::require_unchanged() const {
  if (is_held_) checkpoint().require_unchanged();
}

bool NamedModel::has_tokenizer() const {
  return host_ == nullptr && Tokenizer::kind(resolved_.tokenizer()) != "none";
}

Tokenizer NamedModel::tokenizer() const {
  if (host_ == nullptr) return Tokenizer::load(checkpoint());
  throw UsageError(
      fault("text", "token ids for a live model", "a text", "give tokenizer(text)['input_ids']"));
}

std::unique_ptr<HeadSource> NamedModel::make_dump(const SourceOptions& options) const {
  return make_dump_source(resolved_, options);
}

std::unique_ptr<HeadSource> NamedModel::make_source(std::vector<Document> documents,
                                                    const SourceOptions& options) const {
  if (host_ != nullptr) return host_->open(std::move(documents), options.x);
  require_unchanged();
  return make_model_source(checkpoint(), std::move(documents), options);
}

}  // namespace headgauge::cli
