#include "model/llama_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "model/families.hpp"

namespace headgauge {
namespace {

struct Expected {
  std::string name;
  std::vector<Index> shape;
};

// Returns all tensors of the model, except the output embedding if it is tied.
std::vector<Expected> expected_tensors(const Checkpoint& checkpoint, const LlamaConfig& config) {
  const std::string prefix = llama_prefix(checkpoint);
  const TableNames tables = llama_tables(checkpoint, config);
  const Index d = config.width;
  std::vector<Expected> all = {{tables.in, {config.vocabulary, d}}};
  const auto list = [&](const std::string& name, std::initializer_list<Index> shape) {
    all.push_back({name, shape});
    return nullptr;
  };
  LlamaLayer unread;
  for (int l = 0; l < config.layers; ++l) {
    read_llama_layer(config, {.tensor = list, .prefix = llama_layer_prefix(prefix, l)}, unread);
  }
  all.push_back({prefix + "norm.weight", {d}});
  if (tables.in != tables.out && llama_has_head(checkpoint, config)) {
    all.push_back({tables.out, {config.vocabulary, d}});
  }
  return all;
}

}  // namespace

void read_llama_layer(const LlamaConfig& config, const WeightReader& reader, LlamaLayer& to) {
  const auto norm = [&](const char* name, Index width, RmsNorm& weights) {
    reader.norm(name, width, config.epsilon, config.norm_offset(), weights);
  };
  const Index d = config.width, f = config.inner, h = config.head_dim;
  const Index queries = config.heads * h, keys = config.kv_heads * h;
  reader.linear("self_attn.q_proj", d, queries, config.qkv_bias, to.q);
  reader.linear("self_attn.k_proj", d, keys, config.qkv_bias, to.k);
  reader.linear("self_attn.v_proj", d, keys, config.qkv_bias, to.v);
  reader.linear("self_attn.o_proj", queries, d, config.output_bias, to.o);
  reader.linear("mlp.gate_proj", d, f, config.mlp_bias, to.gate);
  reader.linear("mlp.up_proj", d, f, config.mlp_bias, to.up);
  reader.linear("mlp.down_proj", f, d, config.mlp_bias, to.down);
  const bool four = config.family->four_norms;
  norm("input_layernorm", d, to.input);
  norm("post_attention_layernorm", d, four ? to.after_attention : to.before_mlp);
  if (config.family->norms_heads) {
    norm("self_attn.q_norm", h, to.query);
    norm("self_attn.k_norm", h, to.key);
  }
  if (four) {
    norm("pre_feedforward_layernorm", d, to.before_mlp);
    norm("post_feedforward_layernorm", d, to.after_mlp);
  }
}

std::string llama_prefix(const Checkpoint& checkpoint) {
  return checkpoint.has_prefix("model.") ? "model." : "";
}

std::string llama_layer_prefix(const std::string& prefix, int layer) {
  return fmt::format("{}layers.{}.", prefix, layer);
}

TableNames llama_tables(const Checkpoint& checkpoint, const LlamaConfig& config) {
  return find_tables(checkpoint, llama_prefix(checkpoint) + "embed_tokens.weight", config.tied);
}

bool llama_has_head(const Checkpoint& checkpoint, const LlamaConfig& config) {
  return config.tied || checkpoint.find("lm_head.weight") != nullptr ||
         !llama_prefix(checkpoint).empty();
}

void require_llama_tensors(const Checkpoint& checkpoint, const LlamaConfig& config) {
  std::set<std::string_view> known;
  const std::vector<Expected> expected = expected_tensors(checkpoint, config);
  for (const Expected& tensor : expected) {
    checkpoint.require(tensor.name, tensor.shape);
    known.insert(tensor.name);
  }
  const std::string layers = llama_prefix(checkpoint) + "layers.";
  for (const std::string_view name : checkpoint.names()) {
    // Older checkpoints store the frequencies, which follow from the config.
    if (!name.starts_with(layers) || name.ends_with(".rotary_emb.inv_freq")) continue;
    if (known.contains(name)) continue;
    throw BadInputError(
        fault(checkpoint.find(name)->where(),
              fmt::format("no such tensor in a {} with this config", config.family->model_type),
              "one", "weights and config must come from the same model"));
  }
}

ModelSummary summarize_llama(const Checkpoint& checkpoint) {
  const LlamaConfig config(checkpoint.config());
  refuse_further_layers(checkpoint, llama_prefix(checkpoint) + "layers.", config.layers,
                        "num_hidden_layers");
  ModelSummary summary;
  summary.family = config.family->model_type;
  summary.layers = config.layers;
  summary.heads = config.heads;
  summary.kv_heads = config.kv_heads;
  summary.head_dim = config.head_dim;
  summary.width = config.width;
  summary.vocabulary = config.vocabulary;
  summary.trained_length = config.positions;
  summary.activation = config.activation_name;
  if (config.scaled_by != config.head_dim) summary.scaled_by = config.scaled_by;
  summary.rope = config.rope_text();
  const std::vector<Index> windows = config.windows();
  if (std::ranges::max(windows) > 0) summary.windows = windows;
  summary.score_cap = config.score_cap;
  summary.logit_cap = config.logit_cap;
  summary.prefix = llama_prefix(checkpoint);
  for (const Expected& tensor : expected_tensors(checkpoint, config)) {
    std::int64_t elements = 1;
    for (const Index size : tensor.shape) elements *= size;
    summary.parameters += elements;
  }
  return summary;
}

}  // namespace headgauge
