// The config.json of the Llama families. Missing fields get the defaults of Hugging Face's config
// classes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/checkpoint.hpp"
#include "model/activation.hpp"
#include "model/rope.hpp"

namespace headgauge {

// The differences of a family from Llama.
struct LlamaFamily {
  // The layers with a sliding window, unless layer_types lists them.
  enum class Windows {
    none,
    all,          // mistral
    later,        // qwen: from max_window_layers on, if use_sliding_window
    alternating,  // gemma2: every other layer, starting with the first
  };
  const char* model_type;
  Index kv_heads = 0;   // default; 0: the number of heads
  Index head_dim = 0;   // 0: width / heads
  Index positions = 0;  // max_position_embeddings
  bool tied = false;    // tie_word_embeddings
  const char* activation = "silu";
  Windows windows = Windows::none;
  bool reads_bias = false;                     // attention_bias of the config is used
  bool bias = false;                           // default of attention_bias
  const char* output_bias = "attention_bias";  // the field for the bias of the output projection
  bool reads_mlp_bias = false;                 // mlp_bias of the config is used
  bool qkv_bias = false;     // queries, keys and values always have a bias, the output never
  bool norms_heads = false;  // RMS norm of each head's queries and keys
  bool gemma = false;        // norms multiply by 1 + weight; embeddings are scaled by sqrt(width)
  bool four_norms = false;   // also norms after attention and MLP; soft-caps; query_pre_attn_scalar
};

// Returns the families that run as Llama does: one line each in the table of llama_config.cpp.
std::span<const LlamaFamily> llama_families();

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
  std::vector<Index> windows;  // per layer; 0: none
  std::string activation_name;
  Activation activation;
  Rope rope;
  std::vector<std::string> notices;  // fields that versions of transformers read differently

  // Throws BadInputError and UnsupportedError naming the field; UnsupportedError if model_type is
  // not in llama_families().
  explicit LlamaConfig(const ConfigReader& config);
  bool any_window() const;
};

}  // namespace headgauge
