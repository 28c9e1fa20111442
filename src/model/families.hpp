// The model families: one file each, one line in families.cpp.
#pragma once

#include <memory>
#include <vector>

#include "headgauge/model.hpp"

namespace headgauge {

ModelSummary summarize_gpt2(const Checkpoint& checkpoint);
std::unique_ptr<HeadSource> make_gpt2_source(Checkpoint checkpoint, std::vector<Document> documents,
                                             const SourceOptions& options);

}  // namespace headgauge
