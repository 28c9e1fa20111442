// A model folder for transformers: the checkpoint's files, and a plan.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "headgauge/plan.hpp"
#include "plan/export_folder.hpp"

namespace headgauge {

class Checkpoint;

class HfFolder {
 public:
  // Links the checkpoint's weights and what belongs to them: tokenizer, generation, processor and
  // licence. A notice names what is left out. Writes the weights of a GGUF file as float32, its
  // tokenizer, chat template and special tokens.
  HfFolder(const Checkpoint& checkpoint, ExportFolder& folder);

  void write(const std::string& name, std::string_view text) { folder_.write(name, text); }
  // Writes config.json, plan.json and README.md, which says how the model is loaded.
  void finish(const AttentionPlan& plan, const std::string& load);

  nlohmann::ordered_json config;  // the model's, to be changed before finish()

 private:
  ExportFolder& folder_;
};

}  // namespace headgauge
