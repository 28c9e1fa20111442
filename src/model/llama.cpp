// Llama (Touvron et al. 2023) and related families as Hugging Face's *ForCausalLM compute them, in
// float32:
//   h_0 = embed_tokens[token]                                      (gemma: times sqrt(width))
//   h' = h + o_proj(attention(q, k, v)), q and k rotated by position, of input_layernorm(h)
//   h_next = h' + down_proj(act(gate_proj(y)) * up_proj(y)), y = post_attention_layernorm(h')
//   logits = norm(h_last) lm_head^T
// gemma2 and gemma3 also normalise the outputs of attention and MLP before adding them. All norms
// are RMS norms.

#include <cmath>
#include <utility>

#include "model/families.hpp"
#include "model/layers.hpp"
#include "model/llama_config.hpp"

namespace headgauge {
namespace {

// Returns sqrt(width) rounded to the type of the table, as Hugging Face does when running the model
// in that type.
float embedding_scale(Index width, DType type) {
  const int digits = type == DType::BF16 ? 8 : type == DType::F16 ? 11 : 24;
  int exponent = 0;
  const double mantissa = std::frexp(std::sqrt(static_cast<double>(width)), &exponent);
  return static_cast<float>(
      std::ldexp(std::nearbyint(std::ldexp(mantissa, digits)), exponent - digits));
}

class Llama final : public Transformer {
 public:
  Llama(Checkpoint checkpoint, const ModelSummary& summary)
      : Transformer(std::move(checkpoint), summary),
        config_(checkpoint_.config()),
        tables_(llama_tables(checkpoint_, config_)) {
    require_llama_tensors(checkpoint_, config_);
    info_.has_loss = llama_has_head(checkpoint_, config_);
    info_.element_bytes = cache_bytes(table().dtype);
    info_.notices = config_.notices;
    if (config_.tied && tables_.in != tables_.out)
      info_.notices.push_back(followed_notice(kOwnHead));
  }

  std::size_t bytes(Index longest, int threads) const override {
    const Index d = config_.width, f = config_.inner;
    const Index attention = attention_width(), keys = key_width();
    const Index layer_weights = d * (2 * attention + 2 * keys + 3 * f);
    const Index heads = longest * (2 * attention + 3 * keys + config_.head_dim);
    return sizeof(float) * static_cast<std::size_t>(2 * layer_weights + heads +
                                                    threads * kForwardRows * (2 * f + 2 * d)) +
           checkpoint_.bytes();
  }

  void embedding(int token, std::span<float> row) const override {
    table().widen(row, token * config_.width);
  }

  void enter(MatrixView<float> residual) override {
    if (!config_.family->gemma) return;
    const float scale = embedding_scale(config_.width, table().dtype);
    for (Index t = 0; t < residual.rows(); ++t) {
      for (float& x : residual.row(t)) x *= scale;
    }
  }

  void project(MatrixView<const float> residual, std::vector<HeadInput>& heads,
               ThreadPool& pool) override {
    const Index length = residual.rows(), d = config_.head_dim;
    const Index attention = attention_width(), keys = key_width();
    if (straight_.rows() != length) {
      straight_ = Matrix<float>(length, attention + 2 * keys);
      turned_ = Matrix<float>(length, attention + keys);
    }
    const int rope = spec().rope;
    if (rope >= 0) rotary_[rope].prepare(config_.ropes[rope], length);
    scratch_.for_blocks(
        pool, length, config_.width, [&](Index first, Index rows, MatrixView<float> normed) {
          weights_.input.apply(residual.block(first, rows, 0, config_.width), normed);
          const auto straight = straight_.view();
          weights_.q.apply(normed, straight.block(first, rows, 0, attention));
          weights_.k.apply(normed, straight.block(first, rows, attention, keys));
          weights_.v.apply(normed, straight.block(first, rows, attention + keys, keys));
          for (Index at = 0; at < attention + keys; at += d) {
            const auto head = straight.block(first, rows, at, d);
            if (config_.family->norms_heads) {
              (at < attention ? weights_.query : weights_.key).apply(head, head);
            }
            const auto turned = turned_.view().block(first, rows, at, d);
            if (rope < 0) {
              copy_rows(head, turned);
              continue;
            }
            for (Index r = 0; r < rows; ++r) {
              rotary_[rope].rotate(head.row(r), first + r, turned.row(r));
            }
          }
        });
    const MatrixView<const float> straight = std::as_const(straight_).view();
    const MatrixView<const float> turned = std::as_const(turned_).view();
    const Index window = spec().window;
    heads.clear();
    for (int h = 0; h < config_.heads; ++h) {
      HeadInput head;
      head.layer = loaded_;
      head.head = h;
      head.kv_head = h / (config_.heads / config_.kv_heads);
      head.layer_type = info_.layer_types[loaded_];
      const Index key_at = attention + head.kv_head * d;
      head.queries = turned.block(0, length, h * d, d);
      head.keys = turned.block(0, length, key_at, d);
      head.values = straight.block(0, length, key_at + keys, d);
      head.unrotated_queries = straight.block(0, length, h * d, d);
      head.unrotated_keys = straight.block(0, length, key_at, d);
      // Hugging Face's window includes the query's own key, as ours does.
      if (window > 0) head.visibility = Visibility::sliding_window(window);
      head.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.scaled_by)));
      head.softcap = config_.score_cap;
      heads.push_back(head);
    }
  }

  void finish(MatrixView<const float> attended, MatrixView<float> residual,
              ThreadPool& pool) override {
    const Index d = config_.width, f = config_.inner;
    scratch_.for_blocks(pool, residual.rows(), d + 2 * f,
                        [&](Index first, Index rows, MatrixView<float> scratch) {
                          const auto stream = residual.block(first, rows, 0, d);
                          const auto normed = scratch.block(0, rows, 0, d);
                          const auto gate = scratch.block(0, rows, d, f);
                          const auto up = scratch.block(0, rows, d + f, f);
                          add(weights_.o, attended.block(first, rows, 0, attention_width()),
                              weights_.after_attention, normed, stream);
                          weights_.before_mlp.apply(stream, normed);
                          weights_.gate.apply(normed, gate);
                          weights_.up.apply(normed, up);
                          for (Index r = 0; r < rows; ++r) config_.activation(gate.row(r));
                          multiply_rows(up, gate);
                          add(weights_.down, gate, weights_.after_mlp, normed, stream);
                        });
  }

  void reverse_finish(MatrixView<const float> residual, MatrixView<const float> attended,
                      MatrixView<float> gradient, MatrixView<float> by_attended,
                      ThreadPool& pool) override {
    const Index d = config_.width, f = config_.inner;
    scratch_.for_blocks(
        pool, residual.rows(), 3 * d + 4 * f,
        [&](Index first, Index rows, MatrixView<float> scratch) {
          const auto part = [&](Index at, Index width) {
            return scratch.block(0, rows, at, width);
          };
          const auto stream = part(0, d), added = part(d, d), normed = part(2 * d, d);
          const auto gate = part(3 * d, f), up = part(3 * d + f, f);
          const auto open = part(3 * d + 2 * f, f), inner = part(3 * d + 3 * f, f);
          const auto outputs = attended.block(first, rows, 0, attention_width());
          const auto by_stream = gradient.block(first, rows, 0, d);
          copy_rows(residual.block(first, rows, 0, d), stream);
          add(weights_.o, outputs, weights_.after_attention, normed, stream);
          weights_.before_mlp.apply(stream, normed);
          weights_.gate.apply(normed, gate);
          weights_.up.apply(normed, up);
          copy_rows(gate, open);
          for (Index r = 0; r < rows; ++r) config_.activation(open.row(r));
          copy_rows(open, inner);
          multiply_rows(up, inner);
          reverse_add(weights_.down, inner, weights_.after_mlp, by_stream, added, inner);
          multiply_rows(inner, open);  // the gradient by up
          multiply_rows(inner, up);    // that by the activation, then by gate
          for (Index r = 0; r < rows; ++r) config_.activation.reverse(gate.row(r), up.row(r));
          weights_.gate.reverse(up, normed);
          weights_.up.reverse(open, normed, true);
          weights_.before_mlp.reverse(stream, normed, normed);
          add_rows(normed, by_stream);
          reverse_add(weights_.o, outputs, weights_.after_attention, by_stream, added,
                      by_attended.block(first, rows, 0, attention_width()));
        });
  }

  void reverse_project(MatrixView<const float> residual, MatrixView<float> by_heads,
                       MatrixView<float> gradient, ThreadPool& pool) override {
    const Index width = config_.width, d = config_.head_dim;
    const Index attention = attention_width(), keys = key_width();
    const int rope = spec().rope;
    scratch_.for_blocks(pool, residual.rows(), width + attention + keys,
                        [&](Index first, Index rows, MatrixView<float> scratch) {
                          const auto entered = residual.block(first, rows, 0, width);
                          const auto normed = scratch.block(0, rows, 0, width);
                          const auto own = scratch.block(0, rows, width, attention + keys);
                          const auto by = by_heads.block(first, rows, 0, attention + 2 * keys);
                          const bool norms_heads = config_.family->norms_heads;
                          if (norms_heads) {
                            weights_.input.apply(entered, normed);
                            weights_.q.apply(normed, own.block(0, rows, 0, attention));
                            weights_.k.apply(normed, own.block(0, rows, attention, keys));
                          }
                          for (Index at = 0; at < attention + keys; at += d) {
                            const auto head = by.block(0, rows, at, d);
                            for (Index r = 0; r < rows && rope >= 0; ++r)
                              rotary_[rope].reverse(first + r, head.row(r));
                            if (!norms_heads) continue;
                            (at < attention ? weights_.query : weights_.key)
                                .reverse(own.block(0, rows, at, d), head, head);
                          }
                          weights_.q.reverse(by.block(0, rows, 0, attention), normed);
                          weights_.k.reverse(by.block(0, rows, attention, keys), normed, true);
                          weights_.v.reverse(by.block(0, rows, attention + keys, keys), normed,
                                             true);
                          weights_.input.reverse(entered, normed, normed);
                          add_rows(normed, gradient.block(first, rows, 0, width));
                        });
  }

  void reverse_leave(MatrixView<const float> residual, MatrixView<float> gradient,
                     ThreadPool& pool) override {
    reverse_norm_rows(last_norm(), residual, gradient, pool);
  }

  void leave(MatrixView<const float> residual, MatrixView<float> out, ThreadPool& pool) override {
    norm_rows(last_norm(), residual, out, pool);
  }

  const TensorView& output_embedding() const override { return *checkpoint_.find(tables_.out); }
  float logit_cap() const override { return config_.logit_cap; }
  std::string notice(Index length) const override {
    const std::string first = config_.ropes.front().notice(length);
    return first.empty() ? config_.ropes.back().notice(length) : first;
  }

 private:
  Index attention_width() const { return config_.heads * config_.head_dim; }
  Index key_width() const { return config_.kv_heads * config_.head_dim; }
  const TensorView& table() const { return *checkpoint_.find(tables_.in); }
  const LayerSpec& spec() const { return config_.specs[loaded_]; }  // of the loaded layer

  std::string layer_prefix(int layer) const override { return llama_layer_prefix(prefix_, layer); }
  void read(int, const WeightReader& reader) override {
    read_llama_layer(config_, reader, weights_);
  }

  RmsNorm last_norm() const {
    RmsNorm norm;
    reader(prefix_).norm("norm", config_.width, config_.epsilon, config_.norm_offset(), norm);
    return norm;
  }

  // Computes stream += linear(x), through `norm` if the family has a norm there.
  void add(const Linear& linear, MatrixView<const float> x, const RmsNorm& norm,
           MatrixView<float> scratch, MatrixView<float> stream) const {
    if (!config_.family->four_norms) {
      linear.apply(x, stream, true);
      return;
    }
    linear.apply(x, scratch);
    norm.apply(scratch, scratch);
    add_rows(scratch, stream);
  }

  // Computes the gradient by x of what add() adds from the gradient by the stream. `by_x` may be x.
  void reverse_add(const Linear& linear, MatrixView<const float> x, const RmsNorm& norm,
                   MatrixView<const float> by_stream, MatrixView<float> scratch,
                   MatrixView<float> by_x) const {
    if (!config_.family->four_norms) return linear.reverse(by_stream, by_x);
    linear.apply(x, scratch);
    norm.reverse(scratch, by_stream, scratch);
    linear.reverse(scratch, by_x);
  }

  LlamaConfig config_;
  TableNames tables_;
  LlamaLayer weights_;
  std::vector<RotaryTable> rotary_ = std::vector<RotaryTable>(config_.ropes.size());
  Matrix<float> straight_;  // L x (heads + 2 kv_heads) d: queries, keys, values before rotation
  Matrix<float> turned_;    // L x (heads + kv_heads) d: queries and keys after rotation
  BlockScratch scratch_;
};

}  // namespace

std::unique_ptr<Transformer> make_llama(Checkpoint checkpoint, const ModelSummary& summary) {
  return std::make_unique<Llama>(std::move(checkpoint), summary);
}

}  // namespace headgauge
