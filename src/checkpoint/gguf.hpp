// GGUF, the format of llama.cpp (versions 2 and 3, little-endian):
//   "GGUF"; u32 version; u64 number of tensors; u64 number of metadata entries;
//   entries: text key, u32 type, value; tensors: text name, u32 dimensions, u64 sizes (the fastest
//   first), u32 type, u64 offset; padding to general.alignment; the data.
// A text is a u64 length and its bytes. Nothing in the file is trusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/checkpoint.hpp"

namespace headgauge {

// A metadata value. Lists stay in the file; they are checked when it is opened.
struct GgufValue {
  enum class Type : std::uint32_t {
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    f32,
    boolean,
    text,
    list,
    u64,
    i64,
    f64,
  };
  Type type = Type::u8;
  nlohmann::json scalar;  // null for a list
  Type item = Type::u8;   // element type of a list
  std::size_t count = 0;
  std::span<const std::byte> items;

  bool is_list() const { return type == Type::list; }
  bool is_list_of_texts() const { return is_list() && item == Type::text; }
  // Returns the elements of a list of texts, valid while the file is open.
  std::vector<std::string_view> texts() const;
  // Returns the elements of a list of numbers or booleans.
  std::vector<nlohmann::json> numbers() const;
  // Summarises the value: `12`, `"llama"`, `a list of 49152 texts`.
  std::string summary() const;
};

// Returns whether a path names a GGUF file: by its extension or, for the stores of other programs,
// by its first bytes.
bool is_gguf(const std::filesystem::path& path);

class Gguf {
 public:
  static Gguf open(const std::string& path);
  // Parses bytes that the caller keeps alive; `name` replaces the path in messages.
  static Gguf view(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const { return storage_->path; }
  const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }
  // Returns nullptr if there is no such key.
  const GgufValue* find(std::string_view key) const;
  // Throws BadInputError if there is no such key or its value is not a text.
  std::string text(std::string_view key) const;
  // Returns "FILE: metadata KEY", for messages.
  std::string where(std::string_view key) const;
  // Returns the tensors sorted by name; shapes have the slowest dimension first.
  std::span<const TensorView> tensors() const { return tensors_; }
  // Returns a checksum as Safetensors::sha256() does, of everything before the data and of the
  // tensors.
  const std::string& sha256() const { return sha256_; }
  void require_unchanged() const;

 private:
  struct Storage {
    std::string path;
    std::shared_ptr<const class MappedFile> map;  // null if the caller owns the bytes
  };
  Gguf(std::shared_ptr<const Storage> storage, std::span<const std::byte> bytes);

  std::shared_ptr<const Storage> storage_;
  std::string sha256_;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  std::vector<TensorView> tensors_;
};

// A GGUF file in Hugging Face's form: the text of its config.json, and its tensors under the names
// of its family. Throws UnsupportedError if headgauge does not run the architecture, or if the
// metadata require an unsupported feature.
struct GgufModel {
  std::string config;
  std::map<std::string, std::string> keys;  // field of the config -> key of the metadata
  std::map<std::string, TensorView, std::less<>> tensors;
  std::vector<std::string> notices;  // what the file does not state
};
GgufModel translate_gguf(const Gguf& file);

}  // namespace headgauge
