// Reads dump files. docs/formats.md lists the names and shapes of the tensors.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/strict_json.hpp"
#include "headgauge/checkpoint.hpp"

namespace headgauge {
namespace {

constexpr const char* kDumpAdvice = "see docs/formats.md for what a dump holds";
constexpr Index kMostHeads = 65535;
constexpr int kMostLayers = 65535;

std::string of_layer(std::size_t layer, const char* part) {
  return "layers." + std::to_string(layer) + "." + part;
}

// Splits "layers.12.q" into 12 and "q"; nothing if the name has another form.
std::optional<std::pair<std::size_t, std::string_view>> split_name(std::string_view name) {
  constexpr std::string_view kPrefix = "layers.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::size_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  const auto digits = static_cast<std::size_t>(end - name.data());
  if (error != std::errc{} || digits == name.size() || name[digits] != '.') return std::nullopt;
  if (digits > 1 && name[0] == '0') return std::nullopt;  // only one spelling per layer
  return std::pair(layer, name.substr(digits + 1));
}

const TensorView** slot(DumpFile::Layer& layer, std::string_view part) {
  if (part == "q") return &layer.q;
  if (part == "k") return &layer.k;
  if (part == "v") return &layer.v;
  if (part == "x") return &layer.x;
  if (part == "scores") return &layer.scores;
  return nullptr;
}

// Reads the layers without attention: "0,1,3", ascending.
std::vector<int> read_without_attention(const Safetensors& file) {
  std::vector<int> layers;
  const auto it = file.metadata().find("without_attention");
  if (it == file.metadata().end()) return layers;
  const std::string& text = it->second;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    int layer = -1;
    const auto [end, error] = std::from_chars(text.data() + begin, text.data() + comma, layer);
    refuse_if(error != std::errc{} || end != text.data() + comma || layer > kMostLayers ||
                  layer <= (layers.empty() ? -1 : layers.back()),
              file.path() + ": metadata without_attention",
              "numbers of layers, ascending, such as 0,1,3", in_quotes(text), kDumpAdvice);
    layers.push_back(layer);
    begin = comma + 1;
  }
  return layers;
}

// Assigns every tensor to its layer. Refuses unknown names, which are probably misspelt.
std::vector<DumpFile::Layer> sort_into_layers(const Safetensors& file,
                                              const std::vector<int>& without) {
  std::vector<DumpFile::Layer> layers;
  const TensorView* shared_x = nullptr;
  for (const TensorView& tensor : file.tensors()) {
    if (tensor.name == "x") {
      shared_x = &tensor;
      continue;
    }
    const auto name = split_name(tensor.name);
    // There cannot be more layers than tensors, so a larger layer number means that one is missing.
    const std::size_t most = file.tensors().size() + without.size();
    const TensorView** place = nullptr;
    if (name && name->first < most) {
      if (name->first >= layers.size()) layers.resize(name->first + 1);
      place = slot(layers[name->first], name->second);
    } else if (name) {
      throw BadInputError(fault(tensor.where(), "layers numbered from 0 without gaps",
                                "layer " + std::to_string(name->first), kDumpAdvice));
    }
    refuse_if(place == nullptr, tensor.where(), "x, or layers.N. followed by q, k, v, x or scores",
              "this name", kDumpAdvice);
    *place = &tensor;
  }
  refuse_if(layers.empty(), file.path(), "tensors layers.0.q and layers.0.k, or layers.0.scores",
            "no layer", kDumpAdvice);
  if (!without.empty()) {
    layers.resize(std::max(layers.size(), static_cast<std::size_t>(without.back()) + 1));
  }
  if (shared_x != nullptr) {
    for (DumpFile::Layer& layer : layers) {
      if (layer.x != nullptr) {
        throw BadInputError(
            fault(layer.x->where(), "one x for all layers, or one for each", "both", kDumpAdvice));
      }
      layer.x = shared_x;
    }
  }
  return layers;
}

const std::string& require_metadata(const Safetensors& file, const char* key,
                                    const char* expected) {
  const auto it = file.metadata().find(key);
  if (it != file.metadata().end()) return it->second;
  throw BadInputError(fault(file.path() + ": metadata " + key, expected, "none", kDumpAdvice));
}

bool read_causal(const Safetensors& file) {
  const std::string& text = require_metadata(file, "causal", "true or false");
  if (text == "true") return true;
  if (text == "false") return false;
  throw BadInputError(
      fault(file.path() + ": metadata causal", "true or false", in_quotes(text), kDumpAdvice));
}

float read_scale(const Safetensors& file, Index head_dim) {
  const auto it = file.metadata().find("scale");
  if (it == file.metadata().end()) {
    return static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim)));
  }
  const std::string& text = it->second;
  float scale = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), scale);
  refuse_if(error != std::errc{} || end != text.data() + text.size() || !std::isfinite(scale) ||
                scale <= 0,
            file.path() + ": metadata scale", "a positive number", in_quotes(text), kDumpAdvice);
  return scale;
}

// Compares a tensor's shape with the sizes known so far; takes a size that is still 0 from the
// tensor.
void match(const TensorView& tensor, std::initializer_list<Index*> sizes) {
  const auto expected = [&] {
    std::vector<Index> shape;
    for (const Index* size : sizes) shape.push_back(*size == 0 ? -1 : *size);
    return shape;
  };
  tensor.require_shape(expected());
  std::size_t axis = 0;
  for (Index* size : sizes) {
    refuse_if(tensor.shape[axis] == 0, tensor.where(), "sizes of at least 1",
              "shape " + shape_text(tensor.shape), kDumpAdvice);
    *size = tensor.shape[axis++];
  }
  tensor.require_shape(expected());  // scores contain the length twice
}

}  // namespace

bool DumpFile::recognises(const Safetensors& file) {
  const auto it = file.metadata().find("format");
  return it != file.metadata().end() && it->second.starts_with("headgauge.dump/");
}

DumpFile::DumpFile(Safetensors file) : file_(std::move(file)) {
  const std::string& format = require_metadata(file_, "format", "headgauge.dump/1");
  refuse_if<UnsupportedError>(format != kFormat, file_.path() + ": metadata format",
                              std::string(kFormat), in_quotes(format),
                              "use the headgauge that goes with this format");
  causal_ = read_causal(file_);
  without_attention_ = read_without_attention(file_);
  layers_ = sort_into_layers(file_, without_attention_);
  shares_x_ = file_.find("x") != nullptr;

  const auto attends = [&](std::size_t i) {
    return !std::ranges::binary_search(without_attention_, static_cast<int>(i));
  };
  while (first_ + 1 < layers_.size() && !attends(first_)) ++first_;
  const Layer& first = first_layer();
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (!attends(i)) {
      for (const char* part : {"q", "k", "v", "x", "scores"}) {
        if (const TensorView* held = file_.find(of_layer(i, part))) {
          throw BadInputError(fault(held->where(), "nothing of a layer without attention",
                                    "this tensor", kDumpAdvice));
        }
      }
      continue;
    }
    if (layer.scores != nullptr) {
      if (layer.q != nullptr || layer.k != nullptr) {
        throw BadInputError(
            fault(layer.scores->where(), "q and k, or scores", "both", kDumpAdvice));
      }
    } else {
      static_cast<void>(file_.require(of_layer(i, "q")));
      static_cast<void>(file_.require(of_layer(i, "k")));
    }
    const auto same = [&](const TensorView* here, const TensorView* there, const char* part) {
      if ((here == nullptr) == (there == nullptr)) return;
      const std::size_t lacking = here == nullptr ? i : first_;
      throw BadInputError(fault(file_.path(), std::string(part) + " in every layer or in none",
                                "no " + of_layer(lacking, part), kDumpAdvice));
    };
    same(layer.scores, first.scores, "scores");
    same(layer.v, first.v, "v");
    same(layer.x, first.x, "x");

    if (layer.scores != nullptr) {
      match(*layer.scores, {&heads_, &length_, &length_});
    } else {
      match(*layer.q, {&heads_, &length_, &head_dim_});
      match(*layer.k, {&kv_heads_, &length_, &head_dim_});
    }
    if (layer.v != nullptr) match(*layer.v, {&kv_heads_, &length_, &value_dim_});
    if (layer.x != nullptr) match(*layer.x, {&length_, &x_dim_});
  }
  if (kv_heads_ == 0) kv_heads_ = heads_;  // scores alone do not show it
  refuse_if(heads_ > kMostHeads || heads_ % kv_heads_ != 0, file_.path(),
            "at most " + std::to_string(kMostHeads) + " heads, a multiple of the heads of k and v",
            std::to_string(heads_) + " and " + std::to_string(kv_heads_), kDumpAdvice);
  scale_ = has_scores() ? 1.0f : read_scale(file_, head_dim_);
}

}  // namespace headgauge
