// The model families. Each has its own file and one line in families.cpp; one that runs as Llama
// does only has a line in llama_config.cpp.
#pragma once

#include <memory>
#include <vector>

#include "headgauge/model.hpp"
#include "model/transformer.hpp"

namespace headgauge {

ModelSummary summarize_gpt2(const Checkpoint& checkpoint);
std::unique_ptr<Transformer> make_gpt2(Checkpoint checkpoint, const ModelSummary& summary);
// The functions for every type of llama_families().
ModelSummary summarize_llama(const Checkpoint& checkpoint);
std::unique_ptr<Transformer> make_llama(Checkpoint checkpoint, const ModelSummary& summary);

ModelSummary summarize_bert(const Checkpoint& checkpoint);
std::unique_ptr<Transformer> make_bert(Checkpoint checkpoint, const ModelSummary& summary);

// Adds a model's description for HeadSource::describe(): its summary, and the checksums of its
// files when they were opened.
void describe_model(const Checkpoint& checkpoint, Results& results);

// Runs a transformer over documents, each cut to the longest context. Token ids must be in range.
std::unique_ptr<ModelSource> make_transformer_source(std::unique_ptr<Transformer> transformer,
                                                     std::vector<Document> documents,
                                                     const SourceOptions& options);

}  // namespace headgauge
