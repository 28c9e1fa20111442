// BERT (Devlin et al. 2019) as Hugging Face's BertModel computes it for a single text, in float32:
//   h_0 = norm(word[token] + position[t] + type[0])
//   h' = norm(h + output(attention(query(h), key(h), value(h)))),  h_next = norm(h' + mlp(h'))
// Every query sees every key. Layers on top (masked-LM head, pooler) are not read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/activation.hpp"
#include "model/families.hpp"
#include "model/layers.hpp"

namespace headgauge {
namespace {

struct BertConfig {
  int layers = 0;
  int heads = 0;
  Index width = 0;
  Index inner = 0;
  Index vocabulary = 0;
  Index positions = 0;
  Index token_types = 0;
  double epsilon = 1e-12;
  std::string activation_name;
  Activation activation;

  explicit BertConfig(const ConfigReader& config)
      : layers(static_cast<int>(config.get_size("num_hidden_layers"))),
        heads(static_cast<int>(config.get_size("num_attention_heads"))),
        width(config.get_size("hidden_size")),
        inner(config.get_size("intermediate_size")),
        vocabulary(config.get_size("vocab_size")),
        positions(config.get_size("max_position_embeddings")),
        token_types(config.has("type_vocab_size") ? config.get_size("type_vocab_size") : 2),
        epsilon(config.get_number("layer_norm_eps", 1e-12, kLeastEpsilon, 1)),
        activation_name(config.get_or<std::string>("hidden_act", "gelu")),
        activation(find_activation(activation_name, config.where("hidden_act"))) {
    refuse_if(width % heads != 0, config.where("hidden_size"),
              fmt::format("a multiple of num_attention_heads = {}", heads), std::to_string(width),
              "correct the config");
    for (const char* switched_on : {"is_decoder", "add_cross_attention"}) {
      if (!config.get_or(switched_on, false)) continue;
      throw UnsupportedError(
          fault(config.where(switched_on), "false", "true", "headgauge runs BERT as an encoder"));
    }
    const auto kind = config.get_or<std::string>("position_embedding_type", "absolute");
    refuse_if<UnsupportedError>(
        kind != "absolute", config.where("position_embedding_type"), "absolute", "\"" + kind + "\"",
        "relative positions (relative_key, relative_key_query) add to every score what "
        "queries and keys alone do not say");
  }

  Index head_dim() const { return width / heads; }
};

// The tensor names of BertModel have the prefix "bert." in models with a head.
std::string bert_prefix(const Checkpoint& checkpoint) {
  return checkpoint.has_prefix("bert.") ? "bert." : "";
}

struct BertLayer {
  Linear query, key, value, output, inner, outer;
  LayerNorm attention_norm, output_norm;
};

class Bert final : public Transformer {
 public:
  Bert(Checkpoint checkpoint, const ModelSummary& summary)
      : Transformer(std::move(checkpoint), summary), config_(checkpoint_.config()) {
    // Checks everything that can be checked before work begins.
    const Index d = config_.width;
    checkpoint_.require(embeddings("word_embeddings.weight"), {config_.vocabulary, d});
    checkpoint_.require(embeddings("position_embeddings.weight"), {config_.positions, d});
    checkpoint_.require(embeddings("token_type_embeddings.weight"), {config_.token_types, d});
    first_norm();
    require_layers();
    info_.has_loss = false;
  }

  std::size_t bytes(Index longest, int threads) const override {
    const Index d = config_.width, f = config_.inner;
    return sizeof(float) * static_cast<std::size_t>(2 * (4 * d * d + 2 * d * f) + 3 * longest * d +
                                                    threads * kForwardRows * f) +
           checkpoint_.bytes();
  }

  void embedding(int token, std::span<float> row) const override {
    checkpoint_.find(embeddings("word_embeddings.weight"))->widen(row, token * config_.width);
  }

  void enter(MatrixView<float> residual) override {
    const TensorView& positions = *checkpoint_.find(embeddings("position_embeddings.weight"));
    AlignedVector<float> position(static_cast<std::size_t>(config_.width)), type(position.size());
    checkpoint_.find(embeddings("token_type_embeddings.weight"))->widen(type, 0);
    for (Index t = 0; t < residual.rows(); ++t) {
      positions.widen(position, t * config_.width);
      const auto row = residual.row(t);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] += type[i] + position[i];
    }
    first_norm().apply(residual, residual);
  }

  void project(MatrixView<const float> residual, std::vector<HeadInput>& heads,
               ThreadPool& pool) override {
    const Index length = residual.rows(), width = config_.width;
    if (qkv_.rows() != length) qkv_ = Matrix<float>(length, 3 * width);
    const MatrixView<float> all = qkv_.view();
    for_row_blocks(pool, length, [&](Index first, Index rows, int) {
      const auto in = residual.block(first, rows, 0, width);
      weights_.query.apply(in, all.block(first, rows, 0, width));
      weights_.key.apply(in, all.block(first, rows, width, width));
      weights_.value.apply(in, all.block(first, rows, 2 * width, width));
    });
    HeadInput like;
    like.layer = loaded_;
    like.visibility = Visibility::full();
    like.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.head_dim())));
    split_heads(std::as_const(qkv_).view(), config_.heads, like, heads);
  }

  // residual = norm(residual + output(attended)); residual = norm(residual + mlp(residual))
  void finish(MatrixView<const float> attended, MatrixView<float> residual,
              ThreadPool& pool) override {
    const Index d = config_.width, f = config_.inner;
    scratch_.resize(static_cast<std::size_t>(pool.threads()));
    for_row_blocks(pool, residual.rows(), [&](Index first, Index rows, int slot) {
      Matrix<float>& scratch = scratch_[slot];
      if (scratch.empty()) scratch = Matrix<float>(kForwardRows, f);
      const auto stream = residual.block(first, rows, 0, d);
      const auto inner = scratch.view().block(0, rows, 0, f);
      weights_.output.apply(attended.block(first, rows, 0, d), stream, true);
      weights_.attention_norm.apply(stream, stream);
      weights_.inner.apply(stream, inner);
      for (Index r = 0; r < rows; ++r) config_.activation(inner.row(r));
      weights_.outer.apply(inner, stream, true);
      weights_.output_norm.apply(stream, stream);
    });
  }

 private:
  std::string embeddings(const char* name) const { return prefix_ + "embeddings." + name; }
  std::string layer_prefix(int layer) const override {
    return fmt::format("{}encoder.layer.{}.", prefix_, layer);
  }
  // The weights of a norm are gamma and beta in checkpoints converted from TensorFlow.
  std::string stored_name(const std::string& name) const override {
    const std::string part = name.substr(0, name.rfind('.'));
    if (checkpoint_.find(part + ".gamma") == nullptr) return name;
    return part + (name.ends_with(".bias") ? ".beta" : ".gamma");
  }

  LayerNorm first_norm() const {
    LayerNorm norm;
    reader(embeddings("")).norm("LayerNorm", config_.width, config_.epsilon, norm);
    return norm;
  }

  void read(int, const WeightReader& reader) override {
    const Index d = config_.width, f = config_.inner;
    reader.linear("attention.self.query", d, d, true, weights_.query);
    reader.linear("attention.self.key", d, d, true, weights_.key);
    reader.linear("attention.self.value", d, d, true, weights_.value);
    reader.linear("attention.output.dense", d, d, true, weights_.output);
    reader.linear("intermediate.dense", d, f, true, weights_.inner);
    reader.linear("output.dense", f, d, true, weights_.outer);
    reader.norm("attention.output.LayerNorm", d, config_.epsilon, weights_.attention_norm);
    reader.norm("output.LayerNorm", d, config_.epsilon, weights_.output_norm);
  }

  BertConfig config_;
  BertLayer weights_;
  Matrix<float> qkv_;  // L x 3D
  std::vector<Matrix<float>> scratch_;
};

}  // namespace

ModelSummary summarize_bert(const Checkpoint& checkpoint) {
  const BertConfig config(checkpoint.config());
  ModelSummary summary;
  summary.prefix = bert_prefix(checkpoint);
  refuse_further_layers(checkpoint, summary.prefix + "encoder.layer.", config.layers,
                        "num_hidden_layers");
  summary.family = "bert";
  summary.layers = config.layers;
  summary.heads = summary.kv_heads = config.heads;
  summary.head_dim = config.head_dim();
  summary.width = config.width;
  summary.vocabulary = config.vocabulary;
  summary.positions = config.positions;
  summary.causal = false;
  summary.activation = config.activation_name;
  const std::int64_t d = config.width, f = config.inner;
  const std::int64_t block = 4 * d * d + 2 * d * f + 9 * d + f;
  summary.parameters = config.layers * block + 2 * d +
                       d * (config.vocabulary + config.positions + config.token_types);
  return summary;
}

std::unique_ptr<Transformer> make_bert(Checkpoint checkpoint, const ModelSummary& summary) {
  return std::make_unique<Bert>(std::move(checkpoint), summary);
}

}  // namespace headgauge
