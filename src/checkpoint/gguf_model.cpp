// Converts GGUF back to Hugging Face's form: reverses what llama.cpp's converter does to the names,
// shapes, values and config of each family.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/strict_json.hpp"
#include "checkpoint/gguf.hpp"

namespace headgauge {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr const char* kOneModel = "weights and metadata must come from the same model";

// The metadata of an architecture. Entries that no code reads could change the model in an unknown
// way, so they are refused at the end.
class Fields {
 public:
  Fields(const Gguf& file, const std::string& architecture)
      : file_(file), prefix_(architecture + ".") {}

  std::string where(const std::string& key) const { return file_.where(prefix_ + key); }
  const GgufValue* find(const std::string& key) {
    read_.insert(prefix_ + key);
    return file_.find(prefix_ + key);
  }
  // Returns a value that is not a list.
  OrderedJson require(const std::string& key) {
    const GgufValue* value = find(key);
    if (value != nullptr && !value->is_list()) return value->scalar;
    refuse_if(value == nullptr, where(key), "one value", "none", "convert the model again");
    throw BadInputError(fault(where(key), "one value", value->summary(),
                              "headgauge runs models whose layers have the same sizes"));
  }
  // Returns null if there is no such key.
  OrderedJson optional(const std::string& key) {
    return find(key) == nullptr ? OrderedJson() : require(key);
  }
  // Sets a field of the config, or of an object in it, to a value; `otherwise` if there is no such
  // key.
  void give(OrderedJson& config, const std::string& field, const std::string& key,
            const OrderedJson& otherwise) {
    const OrderedJson value = optional(key);
    config[field.substr(field.rfind('.') + 1)] = value.is_null() ? otherwise : value;
    if (!value.is_null()) keys_[field] = prefix_ + key;
  }
  void give(OrderedJson& config, const std::string& field, const std::string& key) {
    give(config, field, key, require(key));
  }
  // Adds a notice if there is no such key.
  void note_unless_stated(const std::string& key, const OrderedJson& value) {
    if (find(key) != nullptr) return;
    notices.push_back(
        fmt::format("{}: not stated, read as {}, as llama.cpp does", where(key), value.dump()));
  }
  std::vector<std::string> notices;
  // Returns the key that each field has its value from.
  std::map<std::string, std::string>& keys() { return keys_; }
  Index size(const std::string& key) {
    const OrderedJson value = require(key);
    if (value.is_number_integer() && value >= 1 && value <= 1 << 30) return value.get<Index>();
    throw BadInputError(fault(where(key), "an integer from 1 to 2^30", value.dump(), kOneModel));
  }
  // Returns the slowest dimension of a tensor; null if there is no such tensor.
  OrderedJson first_size(std::string_view tensor) const {
    const auto found = std::ranges::find(file_.tensors(), tensor, &TensorView::name);
    return found == file_.tensors().end() ? OrderedJson() : OrderedJson(found->shape.front());
  }
  // If the key exists, requires this value.
  void require_value(const std::string& key, const OrderedJson& only) {
    const OrderedJson value = optional(key);
    if (value.is_null() || value == only) return;
    throw UnsupportedError(
        fault(where(key), only.dump(), value.dump(), "headgauge cannot run this model"));
  }
  void refuse_further() const {
    // These entries describe how the file was made and how outputs are used.
    for (const char* key : {"rope.scaling.finetuned", "tensor_data_layout", "pooling_type",
                            "classifier.output_labels"}) {
      read_.insert(prefix_ + key);
    }
    for (const auto& [key, value] : file_.metadata()) {
      if (!key.starts_with(prefix_) || read_.contains(key)) continue;
      throw UnsupportedError(fault(file_.where(key), "metadata that headgauge knows",
                                   value.summary(), "headgauge cannot run this model"));
    }
  }

 private:
  const Gguf& file_;
  std::string prefix_;
  mutable std::set<std::string> read_;
  std::map<std::string, std::string> keys_;
};

// A tensor's name in the file and in Hugging Face; # means the number of a layer.
struct TensorName {
  std::string_view stored, known;
};

constexpr TensorName kLlamaNames[] = {
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "model.layers.#.input_layernorm"},
    {"blk.#.attn_q", "model.layers.#.self_attn.q_proj"},
    {"blk.#.attn_k", "model.layers.#.self_attn.k_proj"},
    {"blk.#.attn_v", "model.layers.#.self_attn.v_proj"},
    {"blk.#.attn_output", "model.layers.#.self_attn.o_proj"},
    {"blk.#.attn_q_norm", "model.layers.#.self_attn.q_norm"},
    {"blk.#.attn_k_norm", "model.layers.#.self_attn.k_norm"},
    {"blk.#.ffn_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.ffn_gate", "model.layers.#.mlp.gate_proj"},
    {"blk.#.ffn_up", "model.layers.#.mlp.up_proj"},
    {"blk.#.ffn_down", "model.layers.#.mlp.down_proj"},
    // Names that belong to no family are refused as tensors of another model.
    {"blk.#", "model.layers.#"},
};

// The names of gemma2 and gemma3, which take precedence over those of llama.
constexpr TensorName kFourNormNames[] = {
    {"blk.#.ffn_norm", "model.layers.#.pre_feedforward_layernorm"},
    {"blk.#.post_attention_norm", "model.layers.#.post_attention_layernorm"},
    {"blk.#.post_ffw_norm", "model.layers.#.post_feedforward_layernorm"},
};

constexpr TensorName kGpt2Names[] = {
    {"token_embd", "transformer.wte"},
    {"position_embd", "transformer.wpe"},
    {"output_norm", "transformer.ln_f"},
    {"output", "lm_head"},
    {"blk.#.attn_norm", "transformer.h.#.ln_1"},
    {"blk.#.attn_qkv", "transformer.h.#.attn.c_attn"},
    {"blk.#.attn_output", "transformer.h.#.attn.c_proj"},
    {"blk.#.ffn_norm", "transformer.h.#.ln_2"},
    {"blk.#.ffn_up", "transformer.h.#.mlp.c_fc"},
    {"blk.#.ffn_down", "transformer.h.#.mlp.c_proj"},
    {"blk.#", "transformer.h.#"},
};

constexpr TensorName kBertNames[] = {
    {"token_embd", "embeddings.word_embeddings"},
    {"token_types", "embeddings.token_type_embeddings"},
    {"position_embd", "embeddings.position_embeddings"},
    {"token_embd_norm", "embeddings.LayerNorm"},
    {"blk.#.attn_q", "encoder.layer.#.attention.self.query"},
    {"blk.#.attn_k", "encoder.layer.#.attention.self.key"},
    {"blk.#.attn_v", "encoder.layer.#.attention.self.value"},
    {"blk.#.attn_output", "encoder.layer.#.attention.output.dense"},
    {"blk.#.attn_output_norm", "encoder.layer.#.attention.output.LayerNorm"},
    {"blk.#.ffn_up", "encoder.layer.#.intermediate.dense"},
    {"blk.#.ffn_down", "encoder.layer.#.output.dense"},
    {"blk.#.layer_output_norm", "encoder.layer.#.output.LayerNorm"},
    {"blk.#", "encoder.layer.#"},
};

Index head_dim_of(Fields& fields) {
  const Index width = fields.size("embedding_length"), heads = fields.size("attention.head_count");
  if (fields.find("attention.key_length") != nullptr) return fields.size("attention.key_length");
  if (width % heads == 0) return width / heads;
  throw BadInputError(fault(fields.where("embedding_length"),
                            fmt::format("a multiple of attention.head_count = {}", heads),
                            std::to_string(width), kOneModel));
}

// Converts Llama 3's tensor of frequency divisors to longrope with one list for all lengths.
OrderedJson divided_frequencies(const TensorView& tensor, double linear) {
  const auto divisors = tensor.values();
  OrderedJson factors = OrderedJson::array();
  for (const float divisor : divisors) factors.push_back(divisor * linear);
  return {{"rope_type", "longrope"},
          {"short_factor", factors},
          {"long_factor", factors},
          {"attention_factor", 1.0}};
}

OrderedJson rope_scaling(const Gguf& file, Fields& fields) {
  const auto divisors = std::ranges::find(file.tensors(), "rope_freqs.weight", &TensorView::name);
  OrderedJson scaling;
  // What llama.cpp takes if there is no such key; it writes the factor 0 for none.
  fields.give(scaling, "rope_scaling.rope_type", "rope.scaling.type", "linear");
  fields.give(scaling, "rope_scaling.factor", "rope.scale_linear", 0);
  fields.give(scaling, "rope_scaling.factor", "rope.scaling.factor", scaling["factor"]);
  fields.give(scaling, "rope_scaling.original_max_position_embeddings",
              "rope.scaling.original_context_length", nullptr);
  const OrderedJson type = scaling["rope_type"], factor = scaling["factor"];
  const bool scales = type != "none" && factor != 0, divides = divisors != file.tensors().end();
  if (scales) fields.note_unless_stated("rope.scaling.type", type);
  if (divides && factor.is_number() && (type == "none" || type == "linear")) {
    return divided_frequencies(*divisors, scales ? factor.get<double>() : 1);
  }
  if (type == "none" && !divides) return nullptr;
  if (!divides && (type == "linear" || type == "yarn")) return scales ? scaling : OrderedJson();
  throw UnsupportedError(
      fault(fields.where("rope.scaling.type"),
            divides ? "none or linear beside rope_freqs.weight, with a number as its factor"
                    : "none, linear or yarn",
            fmt::format("{} with the factor {}", type.dump(), factor.dump()),
            "headgauge cannot run this RoPE scaling"));
}

bool has_tensor(const Gguf& file, std::string_view name) {
  return std::ranges::binary_search(file.tensors(), name, {}, &TensorView::name);
}

void llama_config(const Gguf& file, Fields& fields, OrderedJson& config) {
  const Index head_dim = head_dim_of(fields);
  fields.give(config, "intermediate_size", "feed_forward_length");
  fields.give(config, "num_key_value_heads", "attention.head_count_kv",
              config["num_attention_heads"]);
  config["head_dim"] = head_dim;
  fields.give(config, "rms_norm_eps", "attention.layer_norm_rms_epsilon");
  config["tie_word_embeddings"] = !has_tensor(file, "output.weight");
  config["attention_bias"] = has_tensor(file, "blk.0.attn_q.bias");
  config["mlp_bias"] = has_tensor(file, "blk.0.ffn_up.bias");
  fields.give(config, "rope_theta", "rope.freq_base", 10000.0);
  config["rope_scaling"] = rope_scaling(file, fields);
  fields.require_value("attention.causal", true);
  fields.require_value("attention.value_length", head_dim);
  fields.require_value("rope.dimension_count", head_dim);
}

// The file does not store the number whose square root divides scores. llama.cpp infers it from the
// number of layers: for the 27 B model, which has so many, it is not the head size.
void set_score_divisor(Fields& fields, int layers_of_largest, OrderedJson& config) {
  const Index per_head = fields.size("embedding_length") / fields.size("attention.head_count");
  const bool largest = config["num_hidden_layers"] == layers_of_largest;
  config["query_pre_attn_scalar"] = largest ? OrderedJson(per_head) : config["head_dim"];
}

void gemma2_config(const Gguf& file, Fields& fields, OrderedJson& config) {
  llama_config(file, fields, config);
  const auto take = [&](const char* field, const std::string& key, const OrderedJson& otherwise) {
    fields.give(config, field, key, otherwise);
    fields.note_unless_stated(key, otherwise);
  };
  take("sliding_window", "attention.sliding_window", 4096);
  take("attn_logit_softcapping", "attn_logit_softcapping", 50.0);
  take("final_logit_softcapping", "final_logit_softcapping", 30.0);
  fields.require_value("attention.sliding_window_pattern", 2);
  set_score_divisor(fields, 46, config);
}

void gemma3_config(const Gguf& file, Fields& fields, OrderedJson& config) {
  llama_config(file, fields, config);
  fields.give(config, "sliding_window", "attention.sliding_window");
  fields.give(config, "sliding_window_pattern", "attention.sliding_window_pattern", 6);
  fields.give(config, "rope_local_base_freq", "rope.freq_base_swa", 10000.0);
  fields.give(config, "final_logit_softcapping", "final_logit_softcapping", nullptr);
  set_score_divisor(fields, 62, config);
}

void gpt2_config(const Gguf& file, Fields& fields, OrderedJson& config) {
  fields.give(config, "n_inner", "feed_forward_length");
  fields.give(config, "layer_norm_epsilon", "attention.layer_norm_epsilon");
  config["tie_word_embeddings"] = !has_tensor(file, "output.weight");
}

void bert_config(const Gguf&, Fields& fields, OrderedJson& config) {
  fields.give(config, "intermediate_size", "feed_forward_length");
  fields.give(config, "layer_norm_eps", "attention.layer_norm_epsilon");
  config["type_vocab_size"] = fields.first_size("token_types.weight");
  fields.require_value("attention.causal", false);
}

struct Architecture {
  const char* name;
  std::span<const TensorName> names;
  void (*configure)(const Gguf& file, Fields& fields, OrderedJson& config);
  bool interleaved = false;                 // the rows of queries and keys are interleaved
  bool added_one = false;                   // the weights of norms have 1 added
  bool transposed = false;                  // the weights of GPT-2's Conv1D are transposed
  std::span<const TensorName> before = {};  // names that take precedence
  const char* model_type = name;
};

constexpr Architecture kArchitectures[] = {
    {.name = "llama", .names = kLlamaNames, .configure = llama_config, .interleaved = true},
    {.name = "qwen2", .names = kLlamaNames, .configure = llama_config},
    {.name = "qwen3", .names = kLlamaNames, .configure = llama_config},
    {.name = "gemma", .names = kLlamaNames, .configure = llama_config, .added_one = true},
    {.name = "gemma2",
     .names = kLlamaNames,
     .configure = gemma2_config,
     .added_one = true,
     .before = kFourNormNames},
    {.name = "gemma3",
     .names = kLlamaNames,
     .configure = gemma3_config,
     .added_one = true,
     .before = kFourNormNames,
     .model_type = "gemma3_text"},
    {.name = "gpt2", .names = kGpt2Names, .configure = gpt2_config, .transposed = true},
    {.name = "bert", .names = kBertNames, .configure = bert_config},
};

const Architecture& find_architecture(const Gguf& file) {
  const std::string name = file.text("general.architecture");
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (name == architecture.name) return architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  throw UnsupportedError(fault(
      file.where("general.architecture"), "one that headgauge reads from GGUF (" + known + ")",
      in_quotes(name), "measure it from Python, as docs/python.md says, or scan a dump"));
}

// Translates `name` from the pattern `from` to `to`; empty if it does not match. Each pattern is a
// prefix followed by a point.
std::string translate(std::string_view name, const TensorName& by) {
  const auto sign = by.stored.find('#');
  std::string_view number;
  std::string_view rest = name;
  if (sign == std::string_view::npos) {
    if (!rest.starts_with(by.stored)) return {};
    rest.remove_prefix(by.stored.size());
  } else {
    if (!rest.starts_with(by.stored.substr(0, sign))) return {};
    rest.remove_prefix(sign);
    number = rest.substr(0, rest.find_first_not_of("0123456789"));
    rest.remove_prefix(number.size());
    const std::string_view after = by.stored.substr(sign + 1);
    if (number.empty() || !rest.starts_with(after)) return {};
    rest.remove_prefix(after.size());
  }
  if (!rest.starts_with('.')) return {};
  std::string known(by.known);
  if (const auto at = known.find('#'); at != known.npos) known.replace(at, 1, number);
  return known.append(rest);
}

std::string known_name(std::string_view stored, const Architecture& architecture) {
  for (const auto& names : {architecture.before, architecture.names}) {
    for (const TensorName& name : names) {
      if (std::string known = translate(stored, name); !known.empty()) return known;
    }
  }
  return std::string(stored);
}

// Marks the rows of queries and keys as interleaved; they must be whole heads.
void interleave(TensorView& tensor, Index head_dim) {
  refuse_if(head_dim % 2 != 0 || tensor.shape.front() % head_dim != 0, tensor.where(),
            fmt::format("rows of heads of {}, an even number", head_dim),
            "shape " + shape_text(tensor.shape), kOneModel);
  tensor.interleaved = head_dim;
}

// Returns the vocabulary: the embedding must have as many rows as the tokenizer has tokens.
Index vocabulary_of(const Gguf& file, Fields& fields) {
  const auto table = std::ranges::find(file.tensors(), "token_embd.weight", &TensorView::name);
  refuse_if(table == file.tensors().end(), file.path(), "a tensor \"token_embd.weight\"",
            fmt::format("no tensor of that name among {}", file.tensors().size()),
            file.tensors().empty() ? "the file has a tokenizer at most: use one "
                                     "with weights"
                                   : kOneModel);
  const Index rows = table->shape.front();
  const auto require = [&](const std::string& where, const std::string& found, bool same) {
    if (same) return;
    throw BadInputError(
        fault(where, fmt::format("{}, as the embedding has rows", rows), found, kOneModel));
  };
  const OrderedJson stated = fields.optional("vocab_size");
  require(fields.where("vocab_size"), stated.dump(), stated.is_null() || stated == rows);
  if (const GgufValue* tokens = file.find("tokenizer.ggml.tokens")) {
    require(file.where("tokenizer.ggml.tokens"), tokens->summary(),
            std::cmp_equal(tokens->count, rows));
  }
  return rows;
}

}  // namespace

GgufModel translate_gguf(const Gguf& file) {
  const Architecture& architecture = find_architecture(file);
  Fields fields(file, architecture.name);
  OrderedJson config = {{"model_type", architecture.model_type}};
  fields.give(config, "hidden_size", "embedding_length");
  fields.give(config, "num_hidden_layers", "block_count");
  fields.give(config, "num_attention_heads", "attention.head_count");
  fields.give(config, "max_position_embeddings", "context_length");
  architecture.configure(file, fields, config);
  config["vocab_size"] = vocabulary_of(file, fields);
  for (const char* key : {"expert_count", "expert_used_count"}) fields.require_value(key, 0);
  fields.refuse_further();

  GgufModel model;
  model.keys = std::move(fields.keys());
  model.notices = std::move(fields.notices);
  model.config = config.dump();
  const Index head_dim = architecture.interleaved ? head_dim_of(fields) : 0;
  for (TensorView tensor : file.tensors()) {
    if (tensor.name == "rope_freqs.weight") continue;
    const std::string name = known_name(tensor.name, architecture);
    const auto is_of = [&](std::string_view part) { return name.find(part) != name.npos; };
    if (architecture.interleaved && (is_of("self_attn.q_proj.") || is_of("self_attn.k_proj."))) {
      interleave(tensor, head_dim);
    }
    if (architecture.added_one && name.ends_with("norm.weight")) tensor.added = -1;
    if (architecture.transposed && tensor.shape.size() == 2 &&
        (is_of(".attn.c_") || is_of(".mlp.c_"))) {
      tensor = tensor.transpose();
    }
    model.tensors.emplace(name, std::move(tensor));
  }
  return model;
}

}  // namespace headgauge
