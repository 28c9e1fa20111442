// The config.json of the Llama families. Missing fields get the defaults of Hugging Face's config
// classes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/checkpoint.hpp"
#include "model/activation.hpp"
#include "model/layers.hpp"
#include "model/rope.hpp"

namespace headgauge {

// The differences of a family from Llama. Numbers are the defaults of fields.
struct LlamaFamily {
  // The layers with a sliding window, unless layer_types lists them.
  enum class Windows {
    none,
    all,           // mistral, ministral
    later,         // qwen: from max_window_layers on, if use_sliding_window
    pattern,       // gemma2, gemma3: all but each `pattern`-th layer
    without_rope,  // smollm3: those without positions, if use_sliding_window
  };
  const char* model_type;
  Index heads = 0;       // 0: num_attention_heads must be stated
  Index vocabulary = 0;  // 0: vocab_size must be stated
  Index kv_heads = 0;    // 0: the number of heads
  Index head_dim = 0;    // 0: width / heads
  Index positions = 0;   // max_position_embeddings
  bool tied = false;     // tie_word_embeddings
  const char* activation = "silu";
  const char* activation_field = "hidden_act";
  Windows windows = Windows::none;
  bool mixes_windows = true;  // layer_types may list layers with a window and layers without one
  Index window = 4096;        // sliding_window; 0: none
  Index pattern = 0;          // sliding_window_pattern
  double theta = 10000;       // rope_theta
  double local_theta = 0;     // rope_local_base_freq, of layers with a window; 0: as all layers
  Index without_rope = 0;     // no_rope_layer_interval; 0: all layers have positions
  bool reads_bias = false;    // attention_bias of the config is used
  bool bias = false;          // attention_bias
  const char* output_bias = "attention_bias";  // the field for the bias of the output projection
  bool reads_mlp_bias = false;                 // mlp_bias of the config is used
  bool qkv_bias = false;     // queries, keys and values always have a bias, the output never
  bool norms_heads = false;  // RMS norm of each head's queries and keys
  bool gemma = false;        // norms multiply by 1 + weight; embeddings are scaled by sqrt(width)
  bool four_norms = false;   // also norms after attention and MLP
  Index scaled_by = 0;   // query_pre_attn_scalar; 0: that and final_logit_softcapping are not read
  double score_cap = 0;  // attn_logit_softcapping; 0: scores have none
  double logit_cap = 0;  // final_logit_softcapping; 0: none
};

// Returns the families that run as Llama does: one line each in the table of llama_config.cpp.
std::span<const LlamaFamily> llama_families();

struct LayerSpec {
  Index window = 0;  // 0: none
  int rope = 0;      // in LlamaConfig::ropes; -1: no positions
};

struct LlamaConfig {
  const LlamaFamily* family = nullptr;
  int layers = 0;
  int heads = 0;
  int kv_heads = 0;
  Index width = 0;
  Index inner = 0;
  Index head_dim = 0;
  Index vocabulary = 0;
  Index positions = 0;  // context length in training
  double epsilon = 1e-6;
  bool tied = false;
  bool qkv_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  Index scaled_by = 0;     // scores are divided by the square root of this
  float score_cap = 0.0f;  // 0: none
  float logit_cap = 0.0f;
  std::vector<LayerSpec> specs;  // of each layer
  std::vector<Rope> ropes;
  std::string activation_name;
  Activation activation;
  std::vector<std::string> notices;  // fields that versions of transformers read differently

  // Throws BadInputError and UnsupportedError naming the field; UnsupportedError if model_type is
  // not in llama_families().
  explicit LlamaConfig(const ConfigReader& config);
  std::vector<Index> windows() const;  // by layer
  // Returns what is added to the weights of the norms.
  float norm_offset() const { return family->gemma ? 1.0f : 0.0f; }
  // Describes the positions: "theta 1000000; with a window: theta 10000".
  std::string rope_text() const;
};

// The tensors of a checkpoint of the Llama families.

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
