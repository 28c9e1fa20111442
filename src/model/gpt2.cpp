// GPT-2 (Radford et al. 2019) as Hugging Face's GPT2LMHeadModel computes it, in float32:
//   h_0 = wte[token] + wpe[position]
//   h' = h + c_proj(attention(c_attn(ln_1(h)))),  h_next = h' + mlp.c_proj(act(mlp.c_fc(ln_2(h'))))
//   logits = ln_f(h_last) wte^T
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/activation.hpp"
#include "model/families.hpp"
#include "model/layers.hpp"

namespace headgauge {
namespace {

struct Gpt2Config {
  int layers = 0;
  int heads = 0;
  Index width = 0;
  Index inner = 0;
  Index vocabulary = 0;
  Index positions = 0;
  double epsilon = 1e-5;
  bool scale_weights = true;
  bool scale_by_layer = false;
  bool tied = true;
  std::string activation_name;
  Activation activation;

  explicit Gpt2Config(const ConfigReader& config)
      : layers(static_cast<int>(config.get_size(config.either("n_layer", "num_hidden_layers")))),
        heads(static_cast<int>(config.get_size(config.either("n_head", "num_attention_heads")))),
        width(config.get_size(config.either("n_embd", "hidden_size"))),
        inner(config.has("n_inner") ? config.get_size("n_inner") : 4 * width),
        vocabulary(config.get_size("vocab_size")),
        positions(config.get_size(
            config.either(config.either("n_ctx", "n_positions"), "max_position_embeddings"))),
        epsilon(config.get_number("layer_norm_epsilon", 1e-5, kLeastEpsilon, 1)),
        scale_weights(config.get_or("scale_attn_weights", true)),
        scale_by_layer(config.get_or("scale_attn_by_inverse_layer_idx", false)),
        tied(config.get_or("tie_word_embeddings", true)),
        activation_name(config.get_or<std::string>("activation_function", "gelu_new")),
        activation(find_activation(activation_name, config.where("activation_function"))) {
    refuse_if(width % heads != 0, config.where(config.either("n_embd", "hidden_size")),
              fmt::format("a multiple of n_head = {}", heads), std::to_string(width),
              "correct the config");
    refuse_if<UnsupportedError>(config.get_or("add_cross_attention", false),
                                config.where("add_cross_attention"), "false", "true",
                                "headgauge runs decoders without an encoder");
  }

  Index head_dim() const { return width / heads; }
  float scale(int layer) const {
    double scale = scale_weights ? 1.0 / std::sqrt(static_cast<double>(head_dim())) : 1.0;
    if (scale_by_layer) scale /= layer + 1;
    return static_cast<float>(scale);
  }
};

// The tensor names of GPT2Model have the prefix "transformer." in Hugging Face's GPT2LMHeadModel.
std::string gpt2_prefix(const Checkpoint& checkpoint) {
  return checkpoint.has_prefix("transformer.") ? "transformer." : "";
}

struct Gpt2Layer {
  LayerNorm ln_1, ln_2;
  Linear c_attn, c_proj, c_fc, mlp_proj;
};

class Gpt2 final : public Transformer {
 public:
  Gpt2(Checkpoint checkpoint, const ModelSummary& summary)
      : Transformer(std::move(checkpoint), summary),
        config_(checkpoint_.config()),
        tables_(find_tables(checkpoint_, prefix_ + "wte.weight", config_.tied)) {
    // Checks everything that can be checked before work begins.
    checkpoint_.require(tables_.in, {config_.vocabulary, config_.width});
    checkpoint_.require(prefix_ + "wpe.weight", {config_.positions, config_.width});
    require_layers();
    last_norm();
    output_embedding();
    if (config_.tied && tables_.in != tables_.out)
      info_.notices.push_back(followed_notice(kOwnHead));
    info_.element_bytes = cache_bytes(checkpoint_.find(tables_.in)->dtype);
  }

  std::size_t bytes(Index longest, int threads) const override {
    const Index d = config_.width, f = config_.inner;
    const Index layer_weights = 4 * d * d + 2 * d * f;
    return sizeof(float) * static_cast<std::size_t>(2 * layer_weights + 3 * longest * d +
                                                    threads * kForwardRows * (f + 2 * d)) +
           checkpoint_.bytes();
  }

  void embedding(int token, std::span<float> row) const override {
    checkpoint_.find(tables_.in)->widen(row, token * config_.width);
  }

  void enter(MatrixView<float> residual) override {
    const TensorView& wpe = *checkpoint_.find(prefix_ + "wpe.weight");
    AlignedVector<float> position(static_cast<std::size_t>(config_.width));
    for (Index t = 0; t < residual.rows(); ++t) {
      wpe.widen(position, t * config_.width);
      const auto row = residual.row(t);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] += position[i];
    }
  }

  // Computes c_attn(ln_1(residual)) and splits it into heads.
  void project(MatrixView<const float> residual, std::vector<HeadInput>& heads,
               ThreadPool& pool) override {
    const Index length = residual.rows(), width = config_.width;
    if (qkv_.rows() != length) qkv_ = Matrix<float>(length, 3 * width);
    scratch_.for_blocks(
        pool, length, width, [&](Index first, Index rows, MatrixView<float> normed) {
          weights_.ln_1.apply(residual.block(first, rows, 0, width), normed);
          weights_.c_attn.apply(normed, qkv_.view().block(first, rows, 0, 3 * width));
        });
    HeadInput like;
    like.layer = loaded_;
    like.scale = config_.scale(loaded_);
    split_heads(std::as_const(qkv_).view(), config_.heads, like, heads);
  }

  // residual += c_proj(attended); residual += mlp(ln_2(residual))
  void finish(MatrixView<const float> attended, MatrixView<float> residual,
              ThreadPool& pool) override {
    const Index d = config_.width, f = config_.inner;
    scratch_.for_blocks(pool, residual.rows(), d + f,
                        [&](Index first, Index rows, MatrixView<float> scratch) {
                          const auto stream = residual.block(first, rows, 0, d);
                          weights_.c_proj.apply(attended.block(first, rows, 0, d), stream, true);
                          const auto normed = scratch.block(0, rows, 0, d);
                          const auto inner = scratch.block(0, rows, d, f);
                          weights_.ln_2.apply(stream, normed);
                          weights_.c_fc.apply(normed, inner);
                          for (Index r = 0; r < rows; ++r) config_.activation(inner.row(r));
                          weights_.mlp_proj.apply(inner, stream, true);
                        });
  }

  void reverse_finish(MatrixView<const float> residual, MatrixView<const float> attended,
                      MatrixView<float> gradient, MatrixView<float> by_attended,
                      ThreadPool& pool) override {
    const Index d = config_.width, f = config_.inner;
    scratch_.for_blocks(pool, residual.rows(), 2 * d + 2 * f,
                        [&](Index first, Index rows, MatrixView<float> scratch) {
                          const auto stream = scratch.block(0, rows, 0, d);
                          const auto normed = scratch.block(0, rows, d, d);
                          const auto inner = scratch.block(0, rows, 2 * d, f);
                          const auto by_inner = scratch.block(0, rows, 2 * d + f, f);
                          const auto by_stream = gradient.block(first, rows, 0, d);
                          copy_rows(residual.block(first, rows, 0, d), stream);
                          weights_.c_proj.apply(attended.block(first, rows, 0, d), stream, true);
                          weights_.ln_2.apply(stream, normed);
                          weights_.c_fc.apply(normed, inner);
                          weights_.mlp_proj.reverse(by_stream, by_inner);
                          for (Index r = 0; r < rows; ++r) {
                            config_.activation.reverse(inner.row(r), by_inner.row(r));
                          }
                          weights_.c_fc.reverse(by_inner, normed);
                          weights_.ln_2.reverse(stream, normed, normed);
                          add_rows(normed, by_stream);
                          weights_.c_proj.reverse(by_stream, by_attended.block(first, rows, 0, d));
                        });
  }

  void reverse_project(MatrixView<const float> residual, MatrixView<float> by_heads,
                       MatrixView<float> gradient, ThreadPool& pool) override {
    const Index d = config_.width;
    scratch_.for_blocks(pool, residual.rows(), d,
                        [&](Index first, Index rows, MatrixView<float> normed) {
                          weights_.c_attn.reverse(by_heads.block(first, rows, 0, 3 * d), normed);
                          weights_.ln_1.reverse(residual.block(first, rows, 0, d), normed, normed);
                          add_rows(normed, gradient.block(first, rows, 0, d));
                        });
  }

  void reverse_leave(MatrixView<const float> residual, MatrixView<float> gradient,
                     ThreadPool& pool) override {
    reverse_norm_rows(last_norm(), residual, gradient, pool);
  }

  void leave(MatrixView<const float> residual, MatrixView<float> out, ThreadPool& pool) override {
    norm_rows(last_norm(), residual, out, pool);
  }

  const TensorView& output_embedding() const override {
    return checkpoint_.require(tables_.out, {config_.vocabulary, config_.width});
  }

 private:
  std::string layer_prefix(int layer) const override {
    return fmt::format("{}h.{}.", prefix_, layer);
  }

  LayerNorm last_norm() const {
    LayerNorm norm;
    reader(prefix_).norm("ln_f", config_.width, config_.epsilon, norm);
    return norm;
  }

  void read(int, const WeightReader& reader) override {
    const Index d = config_.width, f = config_.inner;
    reader.norm("ln_1", d, config_.epsilon, weights_.ln_1);
    reader.norm("ln_2", d, config_.epsilon, weights_.ln_2);
    reader.conv1d("attn.c_attn", d, 3 * d, weights_.c_attn);
    reader.conv1d("attn.c_proj", d, d, weights_.c_proj);
    reader.conv1d("mlp.c_fc", d, f, weights_.c_fc);
    reader.conv1d("mlp.c_proj", f, d, weights_.mlp_proj);
  }

  Gpt2Config config_;
  TableNames tables_;
  Gpt2Layer weights_;
  Matrix<float> qkv_;  // L x 3D
  BlockScratch scratch_;
};

}  // namespace

ModelSummary summarize_gpt2(const Checkpoint& checkpoint) {
  const Gpt2Config config(checkpoint.config());
  refuse_further_layers(checkpoint, gpt2_prefix(checkpoint) + "h.", config.layers,
                        checkpoint.config().either("n_layer", "num_hidden_layers"));
  ModelSummary summary;
  summary.family = "gpt2";
  summary.layers = config.layers;
  summary.heads = summary.kv_heads = config.heads;
  summary.head_dim = config.head_dim();
  summary.width = config.width;
  summary.vocabulary = config.vocabulary;
  summary.positions = config.positions;
  summary.activation = config.activation_name;
  summary.scaled_by_dimension = config.scale_weights;
  summary.scaled_by_layer = config.scale_by_layer;
  summary.prefix = gpt2_prefix(checkpoint);
  const TableNames tables = find_tables(checkpoint, summary.prefix + "wte.weight", config.tied);
  const std::int64_t d = config.width, f = config.inner;
  const std::int64_t block = 4 * d * d + 2 * d * f + 9 * d + f;
  summary.parameters =
      config.layers * block + 2 * d +
      d * (config.positions + config.vocabulary * (tables.in == tables.out ? 1 : 2));
  return summary;
}

std::unique_ptr<Transformer> make_gpt2(Checkpoint checkpoint, const ModelSummary& summary) {
  return std::make_unique<Gpt2>(std::move(checkpoint), summary);
}

}  // namespace headgauge
