#pragma once

#include <memory>
#include <vector>

#include "headgauge/model.hpp"
#include "model/transformer.hpp"

namespace headgauge {

// Runs a transformer over documents, each cut to the longest context. Token ids must be in range.
std::unique_ptr<ModelSource> make_transformer_source(std::unique_ptr<Transformer> transformer,
                                                     std::vector<Document> documents,
                                                     const SourceOptions& options);

}  // namespace headgauge
