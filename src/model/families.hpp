// The model families: one file each and one line in families.cpp; those that run as Llama does have
// one line in llama_config.cpp instead.
#pragma once

#include <memory>

#include "headgauge/model.hpp"
#include "model/transformer.hpp"

namespace headgauge {

ModelSummary summarize_gpt2(const Checkpoint& checkpoint);
std::unique_ptr<Transformer> make_gpt2(Checkpoint checkpoint);
// For every type of llama_families().
ModelSummary summarize_llama(const Checkpoint& checkpoint);
std::unique_ptr<Transformer> make_llama(Checkpoint checkpoint);

ModelSummary summarize_bert(const Checkpoint& checkpoint);
std::unique_ptr<Transformer> make_bert(Checkpoint checkpoint);

// What HeadSource::describe() says of a model: what its summary has, and the sums of its files as
// they were opened.
void describe_model(const Checkpoint& checkpoint, Results& results);

}  // namespace headgauge
