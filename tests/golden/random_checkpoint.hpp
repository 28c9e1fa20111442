#pragma once

// Writes the random GPT-2 checkpoints of the real widths, the same bytes as random_checkpoint.py
// does: the weights are too large to commit, and the C++ tests need no Python. Every weight is an
// exact function of seed, tensor name and index; catalogue/draw.py says which.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headgauge::golden {

/// The object `random` of a golden file.
struct RandomCheckpoint {
  std::string size = "small";  // small, medium, large, xl
  std::string dtype = "f32";   // f32, f16, bf16
  std::uint64_t shards = 1;
  std::uint64_t seed = 1;
  std::uint64_t layers = 2;
  std::uint64_t vocab = 512;
  std::uint64_t positions = 128;
};

namespace detail {

struct RandomTensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  double mean;
  std::int64_t half_width;  // in units of 1 / 1024

  std::uint64_t count() const {
    std::uint64_t product = 1;
    for (const std::uint64_t extent : shape) product *= extent;
    return product;
  }
};

inline std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

inline std::uint64_t fnv1a64(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return hash;
}

inline float random_weight(std::uint64_t key, std::uint64_t index, const RandomTensor& tensor) {
  const std::uint64_t z = mix(key + (index + 1) * 0x9E3779B97F4A7C15ULL);
  const std::int64_t c = 2 * static_cast<std::int64_t>(z >> 40) + 1 - (std::int64_t{1} << 24);
  return static_cast<float>(tensor.mean + static_cast<double>(c * tensor.half_width) * 0x1p-34);
}

/// Round to nearest even; finite values below 65504 only.
inline std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t exponent = (bits >> 23) & 0xFFU;
  if (exponent == 0) return static_cast<std::uint16_t>(sign);
  const std::uint32_t mantissa = (bits & 0x7FFFFFU) | 0x800000U;
  // Normal numbers keep 11 of the 24 bits; below 2^-14 one fewer for each halving.
  const bool is_normal = exponent >= 113;
  const std::uint32_t shift = is_normal ? 13 : std::min(13 + (113 - exponent), 31U);
  const std::uint32_t kept = mantissa >> shift;
  const std::uint32_t rest = mantissa & ((1U << shift) - 1);
  const std::uint32_t half = 1U << (shift - 1);
  const std::uint32_t up = (rest > half || (rest == half && (kept & 1U) != 0)) ? 1 : 0;
  const std::uint32_t base = is_normal ? (exponent - 113) << 10 : 0;
  return static_cast<std::uint16_t>(sign | (base + kept + up));
}

inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

inline void append_little_endian(std::string& out, std::uint64_t value, int bytes) {
  for (int k = 0; k < bytes; ++k) out.push_back(static_cast<char>((value >> (8 * k)) & 0xFFU));
}

inline std::string encode(const RandomTensor& tensor, std::uint64_t seed, std::string_view dtype) {
  const std::uint64_t key = mix(seed ^ fnv1a64(tensor.name));
  std::string out;
  out.reserve(tensor.count() * (dtype == "f32" ? 4 : 2));
  for (std::uint64_t k = 0; k < tensor.count(); ++k) {
    const float value = random_weight(key, k, tensor);
    if (dtype == "f32") {
      append_little_endian(out, std::bit_cast<std::uint32_t>(value), 4);
    } else {
      append_little_endian(out, dtype == "f16" ? to_f16(value) : to_bf16(value), 2);
    }
  }
  return out;
}

inline std::pair<std::uint64_t, std::uint64_t> width_and_heads(const std::string& size) {
  static const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> sizes = {
      {"small", {768, 12}}, {"medium", {1024, 16}}, {"large", {1280, 20}}, {"xl", {1600, 25}}};
  return sizes.at(size);
}

inline std::vector<RandomTensor> random_tensors(const RandomCheckpoint& spec) {
  const std::uint64_t width = width_and_heads(spec.size).first;
  // Half-width sqrt(4.5 / width) is variance 1.5 / width: scores with a deviation of 1.5.
  std::int64_t sharp = 0;
  while ((sharp + 1) * (sharp + 1) <= static_cast<std::int64_t>(1024 * 1024 * 9 / (2 * width))) {
    ++sharp;
  }
  std::vector<RandomTensor> tensors = {
      {"transformer.wte.weight", {spec.vocab, width}, 0.0, sharp},
      {"transformer.wpe.weight", {spec.positions, width}, 0.0, sharp},
  };
  for (std::uint64_t layer = 0; layer < spec.layers; ++layer) {
    const std::string block = "transformer.h." + std::to_string(layer) + ".";
    tensors.push_back({block + "ln_1.weight", {width}, 1.0, 256});
    tensors.push_back({block + "ln_1.bias", {width}, 0.0, 128});
    tensors.push_back({block + "attn.c_attn.weight", {width, 3 * width}, 0.0, sharp});
    tensors.push_back({block + "attn.c_attn.bias", {3 * width}, 0.0, 256});
    tensors.push_back({block + "attn.c_proj.weight", {width, width}, 0.0, sharp});
    tensors.push_back({block + "attn.c_proj.bias", {width}, 0.0, 128});
    tensors.push_back({block + "ln_2.weight", {width}, 1.0, 256});
    tensors.push_back({block + "ln_2.bias", {width}, 0.0, 128});
    tensors.push_back({block + "mlp.c_fc.weight", {width, 4 * width}, 0.0, sharp});
    tensors.push_back({block + "mlp.c_fc.bias", {4 * width}, 0.0, 256});
    tensors.push_back({block + "mlp.c_proj.weight", {4 * width, width}, 0.0, sharp / 2});
    tensors.push_back({block + "mlp.c_proj.bias", {width}, 0.0, 128});
  }
  tensors.push_back({"transformer.ln_f.weight", {width}, 1.0, 256});
  tensors.push_back({"transformer.ln_f.bias", {width}, 0.0, 128});
  return tensors;
}

inline void write_file(const std::filesystem::path& path, const std::vector<std::string>& parts) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  for (const std::string& part : parts) {
    file.write(part.data(), static_cast<std::streamsize>(part.size()));
  }
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

inline void write_safetensors(const std::filesystem::path& path,
                              const std::vector<RandomTensor>& tensors,
                              const RandomCheckpoint& spec) {
  const std::uint64_t bytes = spec.dtype == "f32" ? 4 : 2;
  const std::string type = spec.dtype == "f32" ? "F32" : spec.dtype == "f16" ? "F16" : "BF16";
  std::string header = R"({"__metadata__":{"format":"pt"})";
  std::uint64_t offset = 0;
  for (const RandomTensor& tensor : tensors) {
    std::string shape;
    for (const std::uint64_t extent : tensor.shape) {
      if (!shape.empty()) shape += ',';
      shape += std::to_string(extent);
    }
    const std::uint64_t end = offset + tensor.count() * bytes;
    header += ",\"" + tensor.name + "\":{\"dtype\":\"" + type + "\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(end) + "]}";
    offset = end;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string length;
  append_little_endian(length, header.size(), 8);
  std::vector<std::string> parts = {length, header};
  for (const RandomTensor& tensor : tensors) {
    parts.push_back(encode(tensor, spec.seed, spec.dtype));
  }
  write_file(path, parts);
}

inline std::string config_json(const RandomCheckpoint& spec) {
  const auto [width, heads] = width_and_heads(spec.size);
  const std::string token = std::to_string(spec.vocab - 1);
  const std::string positions = std::to_string(spec.positions);
  const std::string type = spec.dtype == "f32"   ? "float32"
                           : spec.dtype == "f16" ? "float16"
                                                 : "bfloat16";
  return "{\n"
         "  \"activation_function\": \"gelu_new\",\n"
         "  \"architectures\": [\n    \"GPT2LMHeadModel\"\n  ],\n"
         "  \"attn_pdrop\": 0.1,\n"
         "  \"bos_token_id\": " +
         token +
         ",\n"
         "  \"embd_pdrop\": 0.1,\n"
         "  \"eos_token_id\": " +
         token +
         ",\n"
         "  \"initializer_range\": 0.02,\n"
         "  \"layer_norm_epsilon\": 1e-05,\n"
         "  \"model_type\": \"gpt2\",\n"
         "  \"n_ctx\": " +
         positions +
         ",\n"
         "  \"n_embd\": " +
         std::to_string(width) +
         ",\n"
         "  \"n_head\": " +
         std::to_string(heads) +
         ",\n"
         "  \"n_inner\": null,\n"
         "  \"n_layer\": " +
         std::to_string(spec.layers) +
         ",\n"
         "  \"n_positions\": " +
         positions +
         ",\n"
         "  \"resid_pdrop\": 0.1,\n"
         "  \"torch_dtype\": \"" +
         type +
         "\",\n"
         "  \"vocab_size\": " +
         std::to_string(spec.vocab) +
         "\n"
         "}\n";
}

}  // namespace detail

/// config.json and model.safetensors, or its shards and their index, into `folder`.
inline void write_random_checkpoint(const std::filesystem::path& folder,
                                    const RandomCheckpoint& spec) {
  std::filesystem::create_directories(folder);
  detail::write_file(folder / "config.json", {detail::config_json(spec)});
  const std::vector<detail::RandomTensor> tensors = detail::random_tensors(spec);
  if (spec.shards == 1) {
    detail::write_safetensors(folder / "model.safetensors", tensors, spec);
    return;
  }
  std::uint64_t total = 0;
  for (const detail::RandomTensor& tensor : tensors) total += tensor.count();
  std::vector<std::vector<detail::RandomTensor>> groups(spec.shards);
  std::uint64_t done = 0;
  for (const detail::RandomTensor& tensor : tensors) {
    groups[std::min(spec.shards - 1, done * spec.shards / total)].push_back(tensor);
    done += tensor.count();
  }
  const auto five_digits = [](std::uint64_t number) {
    const std::string digits = std::to_string(number);
    return std::string(5 - digits.size(), '0') + digits;
  };
  std::string weight_map;
  for (std::uint64_t shard = 0; shard < spec.shards; ++shard) {
    const std::string file =
        "model-" + five_digits(shard + 1) + "-of-" + five_digits(spec.shards) + ".safetensors";
    detail::write_safetensors(folder / file, groups[shard], spec);
    for (const detail::RandomTensor& tensor : groups[shard]) {
      weight_map += (weight_map.empty() ? "" : ",\n");
      weight_map += "    \"" + tensor.name + "\": \"" + file + "\"";
    }
  }
  const std::uint64_t bytes = total * (spec.dtype == "f32" ? 4 : 2);
  detail::write_file(folder / "model.safetensors.index.json",
                     {"{\n  \"metadata\": {\n    \"total_size\": " + std::to_string(bytes) +
                      "\n  },\n  \"weight_map\": {\n" + weight_map + "\n  }\n}\n"});
}

}  // namespace headgauge::golden
