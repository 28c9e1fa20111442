#include "model/transformer.hpp"

#include <stdexcept>

namespace headgauge {
namespace {

[[noreturn]] void lacks(const char* what) {
  throw std::logic_error(std::string("a model that predicts no next token has no ") + what);
}

}  // namespace

Transformer::Transformer(Checkpoint checkpoint, const ModelSummary& summary)
    : checkpoint_(std::move(checkpoint)), prefix_(summary.prefix), width_(summary.width) {
  info_.name = checkpoint_.model().name;
  info_.family = summary.family;
  info_.layers = summary.layers;
  info_.heads = summary.heads;
  info_.kv_heads = summary.kv_heads;
  info_.head_dim = summary.head_dim;
  info_.max_length = summary.positions;
  info_.trained_length = summary.trained_length;
  info_.causal = summary.causal;
  info_.windows = summary.windows;
  info_.windows.resize(static_cast<std::size_t>(summary.layers));
  for (const Index window : info_.windows) {
    info_.layer_types.emplace_back(window > 0 ? "sliding_attention" : "full_attention");
  }
}

WeightReader Transformer::reader(std::string prefix) const {
  const auto tensor = [this](const std::string& name, std::initializer_list<Index> shape) {
    return &checkpoint_.require(stored_name(name), shape);
  };
  return {.tensor = tensor, .prefix = std::move(prefix)};
}

void Transformer::load(int layer, ThreadPool& pool, Loaded loaded) {
  if (layer == loaded_ && loaded <= loaded_for_) return;
  loaded_for_ = loaded;
  WeightReader whole = reader(layer_prefix(layer));
  whole.pool = &pool;
  whole.loaded = loaded;
  read(layer, whole);
  checkpoint_.release();
  loaded_ = layer;
}

void Transformer::require_layers() {
  for (int layer = 0; layer < info_.layers; ++layer) {
    WeightReader checked = reader(layer_prefix(layer));
    checked.tensor = [require = checked.tensor](const auto& name, auto shape) {
      require(name, shape);
      return nullptr;
    };
    read(layer, checked);
  }
}

void Transformer::leave(MatrixView<const float>, MatrixView<float>, ThreadPool&) {
  lacks("output vectors");
}
void Transformer::reverse_finish(MatrixView<const float>, MatrixView<const float>,
                                 MatrixView<float>, MatrixView<float>, ThreadPool&) {
  lacks("reverse pass");
}
void Transformer::reverse_project(MatrixView<const float>, MatrixView<float>, MatrixView<float>,
                                  ThreadPool&) {
  lacks("reverse pass");
}
void Transformer::reverse_leave(MatrixView<const float>, MatrixView<float>, ThreadPool&) {
  lacks("reverse pass");
}

const TensorView& Transformer::output_embedding() const {
  lacks("output embedding");
}

}  // namespace headgauge
