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
  // Links the checkpoint's files but config.json and README.md. Writes the weights of a GGUF file
  // as float32, and its special tokens. Removes what an earlier export linked or wrote as weights.
  // Throws UsageError if the folder is the model's own, or has other files.
  HfFolder(const Checkpoint& checkpoint, const std::string& folder);

  void write(const std::string& name, std::string_view text) { folder_.write(name, text); }
  // Writes config.json, plan.json and README.md, which says how the model is loaded.
  PlanExport finish(const AttentionPlan& plan, const std::string& load);

  nlohmann::ordered_json config;  // the model's, to be changed before finish()

 private:
  nlohmann::ordered_json tokens_;  // special ones, of a GGUF file; else null
  ExportFolder folder_;
  std::string gguf_;  // name of the GGUF file, which has the tokenizer; empty: none
};

}  // namespace headgauge
