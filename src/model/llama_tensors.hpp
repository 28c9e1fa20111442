// The tensors of a checkpoint of the Llama families.
#pragma once

#include <string>

#include "headgauge/checkpoint.hpp"
#include "model/layers.hpp"
#include "model/llama_config.hpp"

namespace headgauge {

struct LlamaLayer {
  RmsNorm input, after_attention, before_mlp, after_mlp, query, key;
  Linear q, k, v, o, gate, up, down;
};
void read_llama_layer(const LlamaConfig& config, const WeightReader& reader, LlamaLayer& to);

// The tensor names of the model without a head have the prefix "model." in Hugging Face's
// *ForCausalLM.
std::string llama_prefix(const Checkpoint& checkpoint);
std::string llama_layer_prefix(const std::string& prefix, int layer);

TableNames llama_tables(const Checkpoint& checkpoint, const LlamaConfig& config);

// Returns false for a model saved without its head, whose logits are unknown. Returns true if names
// have the prefix, which models with a head use: a file without it is then refused as incomplete.
bool llama_has_head(const Checkpoint& checkpoint, const LlamaConfig& config);

// Checks everything that can be checked before work begins. A layer tensor that this family does
// not have belongs to another model, so it is refused.
void require_llama_tensors(const Checkpoint& checkpoint, const LlamaConfig& config);

}  // namespace headgauge
