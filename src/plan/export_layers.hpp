// A plan of whole layers as a config.json that transformers itself serves (docs/plan.md).
#pragma once

#include <string>

#include "headgauge/plan.hpp"

namespace headgauge {

class Checkpoint;
class ExportFolder;

// Throws UnsupportedError for a model that no class of transformers gives windows by layer.
// `checkpoint`: null for a live model.
void require_served_by_layer(const SourceInfo& source, const Checkpoint* checkpoint);

// Writes a folder (HfFolder) whose config.json has layer_types and sliding_window. The model is one
// that require_served_by_layer() lets pass, and not_exported() finds nothing in the heads. Throws
// UnsupportedError if heads of a layer, or windows of two layers, differ.
void export_layers(const AttentionPlan& plan, const SourceInfo& source,
                   const Checkpoint& checkpoint, ExportFolder& folder);

}  // namespace headgauge
