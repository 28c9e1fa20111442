// A plan as a folder that transformers loads (docs/plan.md).
#pragma once

#include <string>

#include "headgauge/plan.hpp"

namespace headgauge {

class Checkpoint;

// Writes config.json, modeling_headgauge.py, plan.json and README.md, and links to the checkpoint's
// other files; the weights of a GGUF file are written as float32. The heads must be in a form that
// not_exported() finds nothing in. Throws UnsupportedError for a model that the file cannot serve.
PlanExport export_hf(const AttentionPlan& plan, const SourceInfo& source,
                     const Checkpoint& checkpoint, const std::string& folder);

}  // namespace headgauge
