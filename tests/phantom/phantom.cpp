// The residual stream of position t is e_token + e_(128+t), exactly two ones, so that layer norm
// is the same affine map everywhere and can be undone in the weights: any linear map A of the
// one-hot pair is W = s A with bias mean A 1. Queries and keys are then whatever a head needs.
#include "phantom/phantom.hpp"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "base/file.hpp"
#include "checkpoint/safetensors_writer.hpp"
#include "headgauge/checkpoint.hpp"
#include "headgauge/files.hpp"
#include "headgauge/model.hpp"

namespace headgauge {
namespace {

constexpr Index kHeads = static_cast<Index>(kPhantomHeads.size());
constexpr Index kHeadDim = kPhantomTokens;
constexpr Index kWidth = kHeads * kHeadDim;
constexpr Index kInner = 8;
constexpr double kEpsilon = 1e-5;

// c_attn of one layer, built from linear maps of the one-hot pair.
class AttentionBuilder {
 public:
  AttentionBuilder() : weight_(kWidth, 3 * kWidth), bias_(1, 3 * kWidth) {}

  // Output column gets `value` whenever residual coordinate `input` is one, and exactly 0 where it
  // is zero: the bias takes away what float32 makes of that, so that keys which are alike tie.
  void connect(Index input, Index column, double value) {
    const double mean = 2.0 / kWidth;
    const double deviation = std::sqrt(mean - mean * mean + kEpsilon);
    const float zero = -static_cast<float>(mean) * static_cast<float>(1 / deviation);
    const auto weight = static_cast<float>(value * deviation);
    weight_(input, column) = weight;
    bias_(0, column) -= weight * zero;
  }
  void constant(Index column, double value) { bias_(0, column) += static_cast<float>(value); }

  static Index query(Index head, Index i) { return head * kHeadDim + i; }
  static Index key(Index head, Index i) { return kWidth + head * kHeadDim + i; }
  std::span<const float> weight() const { return {weight_.data(), size(weight_)}; }
  std::span<const float> bias() const { return {bias_.data(), size(bias_)}; }

 private:
  static std::size_t size(const Matrix<float>& m) {
    return static_cast<std::size_t>(m.rows() * m.cols());
  }
  Matrix<float> weight_;
  Matrix<float> bias_;
};

Index token_input(Index token) {
  return token;
}
Index position_input(Index position) {
  return kPhantomTokens + position;
}

// logits = scale <q, k>: with unit keys the query carries strength / scale.
void build_head(AttentionBuilder& build, Index head, PhantomHead kind, double strength) {
  const double query = (kind == PhantomHead::one_hot ? kOneHotStrength : strength) *
                       std::sqrt(static_cast<double>(kHeadDim));
  for (Index i = 0; i < kPhantomTokens; ++i) {
    switch (kind) {
      case PhantomHead::uniform:  // all queries and keys zero
      case PhantomHead::sink:     // below
        break;
      case PhantomHead::previous_token:
        build.connect(position_input(i), build.query(head, i), query);
        if (i + 1 < kPhantomTokens) {
          build.connect(position_input(i), build.key(head, i + 1), 1.0);
        }
        break;
      case PhantomHead::distant:
        build.connect(position_input(i), build.query(head, i), query);
        // Round the end, where no earlier query looks: a key of zeros would differ from the others
        // in the rounding of its logits, and weights that should tie would not.
        build.connect(position_input(i), build.key(head, (i + kPhantomDistance) % kPhantomTokens),
                      1.0);
        break;
      case PhantomHead::same_token:
        build.connect(token_input(i), build.query(head, i), query);
        build.connect(token_input(i), build.key(head, i), 1.0);
        break;
      case PhantomHead::one_hot:
        build.connect(position_input(i), build.query(head, i), query);
        build.connect(position_input(i), build.key(head, i), 1.0);
        break;
      case PhantomHead::induction:
        // One layer does not see which token came before a key: its position knows it, of texts
        // that begin as tokens.txt and repeated.txt do.
        build.connect(token_input(i), build.query(head, i), query);
        build.connect(position_input(i), build.key(head, token_before(i)), 1.0);
        break;
    }
  }
  if (kind == PhantomHead::sink) {
    build.constant(build.query(head, 0), query);
    build.connect(position_input(0), build.key(head, 0), 1.0);
  }
}

void put_weights(AtomicFile& file, double strength) {
  AttentionBuilder attention;
  for (Index h = 0; h < kHeads; ++h) {
    build_head(attention, h, kPhantomHeads[static_cast<std::size_t>(h)], strength);
  }
  Matrix<float> wte(kPhantomTokens, kWidth), wpe(kPhantomTokens, kWidth);
  for (Index i = 0; i < kPhantomTokens; ++i) {
    wte(i, token_input(i)) = 1;
    wpe(i, position_input(i)) = 1;
  }
  const std::vector<float> ones(kWidth, 1.0f);
  const std::vector<float> zeros(static_cast<std::size_t>(kWidth * kWidth), 0.0f);
  std::vector<TensorData> tensors;
  const auto add = [&](const std::string& name, std::vector<Index> shape,
                       std::span<const float> values) {
    Index count = 1;
    for (Index extent : shape) count *= extent;
    tensors.push_back(float_tensor("transformer." + name, std::move(shape),
                                   values.first(static_cast<std::size_t>(count))));
  };
  const auto all = [](const Matrix<float>& m) {
    return std::span<const float>(m.data(), static_cast<std::size_t>(m.rows() * m.cols()));
  };
  add("wte.weight", {kPhantomTokens, kWidth}, all(wte));
  add("wpe.weight", {kPhantomTokens, kWidth}, all(wpe));
  for (const char* norm : {"h.0.ln_1", "h.0.ln_2"}) {
    add(std::string(norm) + ".weight", {kWidth}, ones);
    add(std::string(norm) + ".bias", {kWidth}, zeros);
  }
  add("h.0.attn.c_attn.weight", {kWidth, 3 * kWidth}, attention.weight());
  add("h.0.attn.c_attn.bias", {3 * kWidth}, attention.bias());
  add("h.0.attn.c_proj.weight", {kWidth, kWidth}, zeros);
  add("h.0.attn.c_proj.bias", {kWidth}, zeros);
  add("h.0.mlp.c_fc.weight", {kWidth, kInner}, zeros);
  add("h.0.mlp.c_fc.bias", {kInner}, zeros);
  add("h.0.mlp.c_proj.weight", {kInner, kWidth}, zeros);
  add("h.0.mlp.c_proj.bias", {kWidth}, zeros);
  // All logits zero: the loss is log(vocabulary).
  add("ln_f.weight", {kWidth}, zeros);
  add("ln_f.bias", {kWidth}, zeros);
  put_safetensors(file, tensors, {{"format", "pt"}});
}

nlohmann::ordered_json phantom_config() {
  return {{"model_type", "gpt2"},
          {"architectures", {"GPT2LMHeadModel"}},
          {"n_layer", 1},
          {"n_head", kHeads},
          {"n_embd", kWidth},
          {"n_inner", kInner},
          {"n_positions", kPhantomTokens},
          {"n_ctx", kPhantomTokens},
          {"vocab_size", kPhantomTokens},
          {"layer_norm_epsilon", kEpsilon},
          {"activation_function", "gelu_new"},
          {"tie_word_embeddings", true},
          {"torch_dtype", "float32"}};
}

std::string ids_text(std::span<const int> ids) {
  std::string text;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    text += std::to_string(ids[i]) + (i % 16 == 15 ? "\n" : " ");
  }
  return text;
}

}  // namespace

void write_phantom(const std::string& folder, double strength) {
  std::filesystem::create_directories(folder);
  AtomicFiles files(folder);
  std::vector<int> distinct, repeated;
  for (Index i = 0; i < kPhantomTokens; ++i) {
    distinct.push_back(phantom_token(i));
    repeated.push_back(repeated_phantom_token(i));
  }
  files.add("tokens.txt").write(ids_text(distinct));
  files.add("repeated.txt").write(ids_text(repeated));
  put_weights(files.add("model.safetensors"), strength);
  files.add("config.json").write(phantom_config().dump(2) + "\n");
  files.commit();
}

}  // namespace headgauge
