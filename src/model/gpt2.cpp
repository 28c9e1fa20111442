// GPT-2 (Radford et al. 2019) as Hugging Face's GPT2LMHeadModel computes it, in float32:
//   h_0 = wte[token] + wpe[position]
//   h' = h + c_proj(attention(c_attn(ln_1(h)))),  h_next = h' + mlp.c_proj(act(mlp.c_fc(ln_2(h'))))
//   logits = ln_f(h_last) wte^T
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <thread>
#include <unordered_map>

#include "headgauge/results.hpp"
#include "model/activation.hpp"
#include "model/attention.hpp"
#include "model/families.hpp"
#include "model/layers.hpp"
#include "model/next_token.hpp"

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
  Activation activation = nullptr;

  explicit Gpt2Config(const ConfigReader& config)
      : layers(static_cast<int>(config.get_size("n_layer"))),
        heads(static_cast<int>(config.get_size("n_head"))),
        width(config.get_size("n_embd")),
        inner(config.has("n_inner") ? config.get_size("n_inner") : 4 * width),
        vocabulary(config.get_size("vocab_size")),
        positions(config.get_size(config.has("n_positions") ? "n_positions" : "n_ctx")),
        epsilon(config.get_or("layer_norm_epsilon", 1e-5)),
        scale_weights(config.get_or("scale_attn_weights", true)),
        scale_by_layer(config.get_or("scale_attn_by_inverse_layer_idx", false)),
        tied(config.get_or("tie_word_embeddings", true)),
        activation_name(config.get_or<std::string>("activation_function", "gelu_new")),
        activation(find_activation(activation_name, config.where("activation_function"))) {
    if (width % heads != 0) {
      throw BadInputError(fault(config.where("n_embd"),
                                fmt::format("a multiple of n_head = {}", heads),
                                std::to_string(width), "correct the config"));
    }
    if (!(epsilon > 0)) {
      throw BadInputError(fault(config.where("layer_norm_epsilon"), "a positive number",
                                fmt::format("{}", epsilon), "correct the config"));
    }
    if (config.get_or("add_cross_attention", false)) {
      throw UnsupportedError(fault(config.where("add_cross_attention"), "false", "true",
                                   "headgauge runs decoders without an encoder"));
    }
  }

  Index head_dim() const { return width / heads; }
  float scale(int layer) const {
    double scale = scale_weights ? 1.0 / std::sqrt(static_cast<double>(head_dim())) : 1.0;
    if (scale_by_layer) scale /= layer + 1;
    return static_cast<float>(scale);
  }
};

// Hugging Face's GPT2LMHeadModel puts "transformer." before the names of GPT2Model.
std::string tensor_prefix(const Checkpoint& checkpoint) {
  return checkpoint.find("transformer.wte.weight") != nullptr ? "transformer." : "";
}

// Tensors of layers that the config does not know: half a model would be measured in silence.
void refuse_further_layers(const Checkpoint& checkpoint, const Gpt2Config& config) {
  const std::string prefix = tensor_prefix(checkpoint) + "h.";
  int first = std::numeric_limits<int>::max();
  std::string_view found;
  for (const std::string_view name : checkpoint.names()) {
    if (!name.starts_with(prefix)) continue;
    int layer = -1;
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + prefix.size(), end, layer);
    if (error != std::errc{} || stop == end || *stop != '.' || layer < config.layers) continue;
    if (layer >= first) continue;
    first = layer;
    found = name;
  }
  if (found.empty()) return;
  throw BadInputError(fault(checkpoint.config().where("n_layer"),
                            fmt::format("more than {}, for there is \"{}\"", first, found),
                            std::to_string(config.layers),
                            "weights and config must come from the same model"));
}

struct Gpt2Layer {
  LayerNorm ln_1, ln_2;
  Linear c_attn, c_proj, c_fc, mlp_proj;
};

// What is kept of a document from layer to layer.
struct DocumentState {
  Matrix<float> residual;  // L x D
  Matrix<float> distinct;  // embeddings of the distinct tokens
  std::vector<std::uint32_t> row_of;
};

class Gpt2Source final : public HeadSource {
 public:
  Gpt2Source(Checkpoint checkpoint, std::vector<Document> documents, const SourceOptions& options)
      : checkpoint_(std::move(checkpoint)),
        config_(checkpoint_.config()),
        prefix_(tensor_prefix(checkpoint_)),
        documents_(std::move(documents)),
        x_(options.x),
        pool_(options.threads > 0 ? options.threads
                                  : static_cast<int>(std::thread::hardware_concurrency())) {
    describe();
  }

  const SourceInfo& info() const override { return info_; }

  void describe(Results& results) const override {
    results.model["parameters"] = summarize_gpt2(checkpoint_).parameters;
    results.model["width"] = config_.width;
    results.model["vocabulary"] = config_.vocabulary;
    results.model["positions"] = config_.positions;
    results.model["config_sha256"] = checkpoint_.model().config_sha256();
    results.model["weights_sha256"] = checkpoint_.model().weights_sha256();
    for (const Document& document : documents_) {
      results.text["names"].push_back(document.name);
      results.text["sha256"].push_back(document.sha256);
      results.text["tokens"].push_back(document.tokens.size());
      results.text["tokens_total"].push_back(document.total);
    }
  }

  std::span<const HeadInput> layer(int layer, int document) override {
    if (states_.empty()) embed();
    if (layer != loaded_) load(layer);
    DocumentState& state = states_[static_cast<std::size_t>(document)];
    if (x_ == XSource::hidden) hidden_ = state.residual;
    project(state);
    make_heads(layer, document, state);
    finish_block(state);
    return heads_;
  }

  std::vector<double> token_losses(int document) override {
    const DocumentState& state = states_[static_cast<std::size_t>(document)];
    const auto& tokens = documents_[static_cast<std::size_t>(document)].tokens;
    if (tokens.size() < 2) return {};
    const LayerNorm ln_f =
        load_layer_norm(checkpoint_, prefix_ + "ln_f", config_.width, config_.epsilon);
    Matrix<float> normed(state.residual.rows(), config_.width);
    for_row_blocks(pool_, normed.rows(), [&](Index first, Index rows, int) {
      ln_f.apply(state.residual.view().block(first, rows, 0, config_.width),
                 normed.view().block(first, rows, 0, config_.width));
    });
    const std::span<const int> targets(tokens.data() + 1, tokens.size() - 1);
    return next_token_losses(normed, output_embedding(), targets, pool_);
  }

 private:
  const TensorView& output_embedding() const {
    const std::string name = config_.tied ? prefix_ + "wte.weight" : "lm_head.weight";
    return checkpoint_.require(name, {config_.vocabulary, config_.width});
  }

  // Checks everything that can be checked before work begins, and fills in info_.
  void describe() {
    const Index d = config_.width, f = config_.inner;
    checkpoint_.require(prefix_ + "wte.weight", {config_.vocabulary, d});
    checkpoint_.require(prefix_ + "wpe.weight", {config_.positions, d});
    for (int l = 0; l < config_.layers; ++l) {
      const std::string h = fmt::format("{}h.{}.", prefix_, l);
      const auto require = [&](const char* name, std::initializer_list<Index> shape) {
        checkpoint_.require(h + name, shape);
      };
      for (const char* name : {"ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias",
                               "attn.c_proj.bias", "mlp.c_proj.bias"}) {
        require(name, {d});
      }
      require("attn.c_attn.weight", {d, 3 * d});
      require("attn.c_attn.bias", {3 * d});
      require("attn.c_proj.weight", {d, d});
      require("mlp.c_fc.weight", {d, f});
      require("mlp.c_fc.bias", {f});
      require("mlp.c_proj.weight", {f, d});
    }
    checkpoint_.require(prefix_ + "ln_f.weight", {d});
    checkpoint_.require(prefix_ + "ln_f.bias", {d});
    output_embedding();

    info_.name = checkpoint_.model().name;
    info_.family = "gpt2";
    info_.layers = config_.layers;
    info_.heads = info_.kv_heads = config_.heads;
    info_.head_dim = config_.head_dim();
    info_.x_dim = x_ == XSource::value ? config_.head_dim() : d;
    info_.max_length = config_.positions;
    info_.layer_types.assign(static_cast<std::size_t>(config_.layers), "full_attention");
    info_.windows.assign(static_cast<std::size_t>(config_.layers), 0);
    Index longest = 0, total = 0;
    for (Document& document : documents_) {
      const auto limit = static_cast<std::size_t>(config_.positions);
      document.total = std::max(document.total, document.tokens.size());
      if (document.tokens.size() > limit) document.tokens.resize(limit);
      const auto length = static_cast<Index>(document.tokens.size());
      info_.documents.push_back(length);
      longest = std::max(longest, length);
      total += length;
    }
    const Index layer_weights = 4 * d * d + 2 * d * f;
    const Index threads = pool_.threads();
    info_.bytes = sizeof(float) * static_cast<std::size_t>(
                                      2 * layer_weights + 2 * total * d + 6 * longest * d +
                                      threads * kForwardRows * (f + 2 * d + 2048) + 4096 * d) +
                  checkpoint_.bytes() +
                  attention_bytes(longest, config_.heads, config_.head_dim(), pool_.threads());
  }

  void embed() {
    const TensorView& wte = *checkpoint_.find(prefix_ + "wte.weight");
    const TensorView& wpe = *checkpoint_.find(prefix_ + "wpe.weight");
    const Index width = config_.width;
    for (const Document& document : documents_) {
      DocumentState state;
      std::unordered_map<int, std::uint32_t> row_of_token;
      for (int token : document.tokens) {
        const auto next = static_cast<std::uint32_t>(row_of_token.size());
        state.row_of.push_back(row_of_token.emplace(token, next).first->second);
      }
      state.distinct = Matrix<float>(static_cast<Index>(row_of_token.size()), width);
      for (const auto& [token, row] : row_of_token) {
        wte.widen(state.distinct.row(row), token * width);
      }
      const auto length = static_cast<Index>(document.tokens.size());
      state.residual = Matrix<float>(length, width);
      wpe.widen({state.residual.data(), static_cast<std::size_t>(length * width)});
      for (Index t = 0; t < length; ++t) {
        const auto from = state.distinct.row(state.row_of[static_cast<std::size_t>(t)]);
        const auto to = state.residual.row(t);
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
      }
      states_.push_back(std::move(state));
    }
  }

  void load(int layer) {
    const std::string h = fmt::format("{}h.{}.", prefix_, layer);
    const Index d = config_.width, f = config_.inner;
    weights_.ln_1 = load_layer_norm(checkpoint_, h + "ln_1", d, config_.epsilon);
    weights_.ln_2 = load_layer_norm(checkpoint_, h + "ln_2", d, config_.epsilon);
    load_conv1d(checkpoint_, h + "attn.c_attn", d, 3 * d, pool_, weights_.c_attn);
    load_conv1d(checkpoint_, h + "attn.c_proj", d, d, pool_, weights_.c_proj);
    load_conv1d(checkpoint_, h + "mlp.c_fc", d, f, pool_, weights_.c_fc);
    load_conv1d(checkpoint_, h + "mlp.c_proj", f, d, pool_, weights_.mlp_proj);
    loaded_ = layer;
  }

  // qkv_ = c_attn(ln_1(residual))
  void project(const DocumentState& state) {
    const Index length = state.residual.rows(), d = config_.width;
    if (qkv_.rows() != length) qkv_ = Matrix<float>(length, 3 * d);
    for_blocks(length, d, [&](Index first, Index rows, MatrixView<float> normed) {
      weights_.ln_1.apply(state.residual.view().block(first, rows, 0, d), normed);
      weights_.c_attn.apply(normed, qkv_.view().block(first, rows, 0, 3 * d));
    });
  }

  void make_heads(int layer, int document, const DocumentState& state) {
    const Index length = qkv_.rows(), d = config_.head_dim(), width = config_.width;
    const MatrixView<const float> qkv = std::as_const(qkv_).view();
    heads_.clear();
    for (int h = 0; h < config_.heads; ++h) {
      HeadInput head;
      head.layer = layer;
      head.head = head.kv_head = h;
      head.document = document;
      head.queries = qkv.block(0, length, h * d, d);
      head.keys = qkv.block(0, length, width + h * d, d);
      head.values = qkv.block(0, length, 2 * width + h * d, d);
      head.scale = config_.scale(layer);
      const auto document_key = static_cast<std::uint64_t>(document) + 1;
      const auto layer_key = (static_cast<std::uint64_t>(layer) + 1) << 20;
      switch (x_) {
        case XSource::embedding:
          head.x = {state.distinct, state.row_of, document_key};
          break;
        case XSource::hidden:
          head.x = {hidden_, {}, layer_key | document_key};
          break;
        case XSource::value:
          head.x = {head.values,
                    {},
                    (static_cast<std::uint64_t>(h + 1) << 40) | layer_key | document_key};
          break;
      }
      heads_.push_back(head);
    }
  }

  // residual += c_proj(attention); residual += mlp(ln_2(residual))
  void finish_block(DocumentState& state) {
    const Index length = state.residual.rows(), d = config_.width, f = config_.inner;
    if (attended_.rows() != length) attended_ = Matrix<float>(length, d);
    attend(heads_, attended_, attention_, pool_);
    for_blocks(length, d + f, [&](Index first, Index rows, MatrixView<float> scratch) {
      const auto residual = state.residual.view().block(first, rows, 0, d);
      weights_.c_proj.apply(attended_.view().block(first, rows, 0, d), residual, true);
      const auto normed = scratch.block(0, rows, 0, d);
      const auto inner = scratch.block(0, rows, d, f);
      weights_.ln_2.apply(residual, normed);
      weights_.c_fc.apply(normed, inner);
      for (Index r = 0; r < rows; ++r) config_.activation(inner.row(r));
      weights_.mlp_proj.apply(inner, residual, true);
    });
  }

  // Blocks of rows in parallel, each with scratch memory of `width` columns.
  template <class Body>
  void for_blocks(Index length, Index width, const Body& body) {
    scratch_.resize(static_cast<std::size_t>(pool_.threads()));
    for_row_blocks(pool_, length, [&](Index first, Index rows, int slot) {
      Matrix<float>& scratch = scratch_[static_cast<std::size_t>(slot)];
      if (scratch.cols() < width) scratch = Matrix<float>(kForwardRows, width);
      body(first, rows, MatrixView<float>(scratch.data(), rows, width, width));
    });
  }

  Checkpoint checkpoint_;
  Gpt2Config config_;
  std::string prefix_;
  std::vector<Document> documents_;
  XSource x_;
  ThreadPool pool_;
  SourceInfo info_;

  std::vector<DocumentState> states_;
  Gpt2Layer weights_;
  int loaded_ = -1;
  Matrix<float> qkv_;       // L x 3D
  Matrix<float> attended_;  // L x D
  Matrix<float> hidden_;    // the residual stream entering the layer, where x is hidden
  AttentionWorkspace attention_;
  std::vector<Matrix<float>> scratch_;
  std::vector<HeadInput> heads_;
};

}  // namespace

ModelSummary summarize_gpt2(const Checkpoint& checkpoint) {
  const Gpt2Config config(checkpoint.config());
  refuse_further_layers(checkpoint, config);
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
  summary.prefix = tensor_prefix(checkpoint);
  const std::int64_t d = config.width, f = config.inner;
  const std::int64_t block = 4 * d * d + 2 * d * f + 9 * d + f;
  summary.parameters = config.layers * block + 2 * d +
                       d * (config.positions + config.vocabulary * (config.tied ? 1 : 2));
  return summary;
}

std::unique_ptr<HeadSource> make_gpt2_source(Checkpoint checkpoint, std::vector<Document> documents,
                                             const SourceOptions& options) {
  return std::make_unique<Gpt2Source>(std::move(checkpoint), std::move(documents), options);
}

}  // namespace headgauge
