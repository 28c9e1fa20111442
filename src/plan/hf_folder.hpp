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

// A plan as a folder that transformers loads (docs/plan.md).

class Checkpoint;
class ExportFolder;

// Throws UnsupportedError for a model that modeling_headgauge.py cannot serve. `checkpoint`: null
// for a live model.
void require_served(const SourceInfo& source, const Checkpoint* checkpoint);

// Writes a folder (HfFolder) with modeling_headgauge.py. The model is one that require_served()
// lets pass, and not_exported() finds nothing in the heads. Throws UnsupportedError for running
// means in layers with a window.
void export_hf(const AttentionPlan& plan, const SourceInfo& source, const Checkpoint& checkpoint,
               ExportFolder& folder);

}  // namespace headgauge
