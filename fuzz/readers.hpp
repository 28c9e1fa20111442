// What a fuzz target and the mutation test do with the bytes of a file: read all there is to read.
// Whatever the bytes, this either works or throws a headgauge::Error.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "checkpoint/gguf.hpp"
#include "checkpoint/shard_index.hpp"
#include "fuzz/contract.hpp"
#include "headgauge/checkpoint.hpp"
#include "tokenize/tokenizer_json.hpp"

namespace headgauge::fuzzing {

inline void read_all(const Safetensors& file) {
  for (const TensorView& tensor : file.tensors()) {
    static_cast<void>(file.require(tensor.name).where());
    tensor.check_finite(tensor.mapped_floats());
    if (tensor.dtype == DType::F16 || tensor.dtype == DType::BF16 || tensor.dtype == DType::F64) {
      static_cast<void>(tensor.values());
    }
    if (tensor.dtype == DType::F32 && tensor.shape.size() <= 2 && !tensor.shape.empty()) {
      static_cast<void>(tensor.matrix());
    }
  }
}

inline void read_safetensors(std::span<const std::byte> bytes) {
  read_all(Safetensors::view(bytes, "input"));
}

inline void read_dump(std::span<const std::byte> bytes) {
  const DumpFile dump(Safetensors::view(bytes, "input"));
  for (const DumpFile::Layer& layer : dump.layers()) {
    for (const TensorView* tensor : {layer.q, layer.k, layer.v, layer.x, layer.scores}) {
      if (tensor != nullptr) static_cast<void>(tensor->values());
    }
  }
}

template <class T>
void read_field(const ConfigReader& config, std::string_view key) {
  try {
    static_cast<void>(config.get<T>(key));
  } catch (const BadInputError&) {
    // Of another type: the next one is tried.
  }
}

inline void read_config(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const ConfigReader config(text, "input");
  for (const auto& [key, value] : config.json().items()) {
    read_field<bool>(config, key);
    read_field<int>(config, key);
    read_field<std::int64_t>(config, key);
    read_field<double>(config, key);
    read_field<std::string>(config, key);
    read_field<std::vector<int>>(config, key);
    read_field<std::vector<std::string>>(config, key);
    if (value.is_object()) static_cast<void>(config.child(key));
  }
  static_cast<void>(parse_shard_index(text, "input"));
}

// All tensors, the tokenizer, and the model that the file is, whose tensors are widened in their
// order.
inline void read_gguf(std::span<const std::byte> bytes) {
  const Gguf file = Gguf::view(bytes, "input");
  for (const auto& [key, value] : file.metadata()) {
    if (value.is_list_of_texts()) {
      static_cast<void>(value.texts());
    } else if (value.is_list()) {
      static_cast<void>(value.numbers());
    }
    static_cast<void>(value.summary());
  }
  const auto widen = [](const TensorView& tensor) {
    try {
      static_cast<void>(tensor.values());
    } catch (const Error&) {
      // Integers, or numbers that are not finite: the next one is tried.
    }
  };
  for (const TensorView& tensor : file.tensors()) widen(tensor);
  works_or_is_refused([&] { static_cast<void>(gguf_tokenizer_json(file)); });
  const GgufModel model = translate_gguf(file);
  for (const auto& [name, tensor] : model.tensors) widen(tensor);
  static_cast<void>(ConfigReader(model.config, "input"));
}

}  // namespace headgauge::fuzzing
