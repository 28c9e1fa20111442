// What MODEL names: a checkpoint, a dump, or a model of the program that runs the command.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgauge/checkpoint.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/model.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge::cli {

class HostModel;

class NamedModel {
 public:
  // Throws as resolve_model() does.
  explicit NamedModel(const std::string& name);

  bool is_dump() const;
  // From now on a checkpoint may not change: its files stay mapped.
  void hold();
  // BadInputError where a checkpoint that is held is no longer the one that it was.
  void require_unchanged() const;
  // Adds what is known of a model that is held to Results::model.
  void describe(Results& results) const;
  // The model may not be a dump. Throws as summarize_model() does.
  const ModelSummary& summary() const;
  bool has_tokenizer() const;
  // UsageError for a model of the program, whose tokenizer is its own.
  Tokenizer tokenizer() const;
  std::unique_ptr<HeadSource> make_dump(const SourceOptions& options) const;
  // The model with these documents; requires that it is unchanged.
  std::unique_ptr<HeadSource> make_source(std::vector<Document> documents,
                                          const SourceOptions& options) const;

 private:
  // Opened where it is first needed, and once.
  const Checkpoint& checkpoint() const;

  HostModel* host_ = nullptr;
  ResolvedModel resolved_;
  bool is_held_ = false;
  mutable std::shared_ptr<const Checkpoint> checkpoint_;
  mutable std::optional<ModelSummary> summary_;
};

}  // namespace headgauge::cli
