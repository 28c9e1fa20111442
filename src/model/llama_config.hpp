// The config.json of the Llama families, with the defaults of Hugging Face's config classes
// (transformers 4.57) for fields that are not there.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/checkpoint.hpp"
#include "model/activation.hpp"
#include "model/rope.hpp"

namespace headgauge {

// What sets a family apart from Llama.
struct LlamaFamily {
  // Which layers look back no further than sliding_window, where layer_types does not say.
  enum class Windows {
    none,
    all,          // mistral
    later,        // qwen: from max_window_layers on, if use_sliding_window
    alternating,  // gemma2: every other layer, the first included
  };
  const char* model_type;
  Index kv_heads = 0;   // where the config says nothing; 0: as many as there are heads
  Index head_dim = 0;   // 0: width / heads
  Index positions = 0;  // max_position_embeddings
  bool tied = false;    // tie_word_embeddings
  const char* activation = "silu";
  Windows windows = Windows::none;
  bool reads_bias = false;                     // attention_bias of the config counts
  bool bias = false;                           // attention_bias where the config says nothing
  const char* output_bias = "attention_bias";  // the field for the bias of the output
  bool reads_mlp_bias = false;                 // mlp_bias does
  bool qkv_bias = false;     // always a bias of queries, keys and values, never of the output
  bool norms_heads = false;  // an RMS norm of the queries and keys of a head
  bool gemma = false;        // norms multiply by 1 + weight; embeddings are scaled by sqrt(width)
  bool four_norms = false;   // also after attention and MLP; soft-caps; query_pre_attn_scalar
};

// The families that run as Llama does: a line in the table of llama_config.cpp each, and no other.
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
  Index positions = 0;  // trained on
  double epsilon = 1e-6;
  bool tied = false;
  bool qkv_bias = false;
  bool output_bias = false;
  bool mlp_bias = false;
  Index scaled_by = 0;     // scores are divided by its root
  float score_cap = 0.0f;  // 0: none
  float logit_cap = 0.0f;
  std::vector<Index> windows;  // per layer; 0: none
  std::string activation_name;
  Activation activation = nullptr;
  Rope rope;

  // BadInputError and UnsupportedError name the field; UnsupportedError where model_type is none of
  // llama_families().
  explicit LlamaConfig(const ConfigReader& config);
  bool any_window() const;
};

}  // namespace headgauge
