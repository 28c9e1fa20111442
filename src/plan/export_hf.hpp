// A plan as a folder that transformers loads (docs/plan.md).
#pragma once

#include <string>

#include "headgauge/plan.hpp"

namespace headgauge {

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
