// Reading checkpoints: safetensors files, sharded or not, their config.json, GGUF files, the folder
// of the Hugging Face cache that a name means, and files of dumped attention tensors. Nothing in a
// file is trusted: whatever is wrong with it ends in a BadInputError that names the file and the
// tensor or field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// The element types of the safetensors format, and the quantised types of GGUF files, whose
// elements come in blocks. F16, BF16, F32, F64 and the quantised ones can be widened.
// clang-format off
enum class DType {
  BOOL, F4, F6_E2M3, F6_E3M2, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, F8_E5M2FNUZ, F8_E4M3FNUZ,
  I16, U16, F16, BF16, I32, U32, F32, C64, F64, I64, U64,
  Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K,
};
// clang-format on
std::string_view dtype_name(DType dtype);
// Elements of a block: 1 but for quantised types.
int dtype_block(DType dtype);
// Bits of a block.
int dtype_bits(DType dtype);

// "[768, 2304]"
std::string shape_text(std::span<const Index> shape);

// One tensor inside a mapped file, valid as long as the file's Safetensors or Checkpoint.
struct TensorView {
  std::string_view file;
  std::string name;
  DType dtype = DType::F32;
  std::vector<Index> shape;
  std::span<const std::byte> bytes;  // little-endian, row-major, of any alignment
  // The rows (or the elements of a vector) come in groups of this many, unless it is 0. Row i of
  // the first half of a group lies at 2 i and row i of its second half at 2 i + 1: llama.cpp's
  // order of a head's queries and keys. widen() puts them back.
  Index interleaved = 0;
  // The bytes hold the transpose of this matrix. A range of it is slow to widen.
  bool transposed = false;
  float added = 0;  // to each element by widen(): gemma's norms are stored with 1 added

  Index elements() const;
  // The matrix that the bytes hold, where this one is its transpose.
  TensorView transpose() const;
  // "FILE: tensor NAME", for messages.
  std::string where() const;
  // Elements [first, first + out.size()) as float32. f16 and bf16 are exact, f64 is rounded,
  // quantised ones are what the Python package gguf gives. Throws BadInputError naming the position
  // of the first NaN or infinity, UnsupportedError where the type is no floating-point one of 16
  // bits or more and not quantised. Without `check` NaN and infinities are
  // let through.
  void widen(std::span<float> out, Index first = 0, bool check = true) const;
  // The whole tensor of one (1 x n) or two dimensions, widened.
  Matrix<float> matrix() const;
  // The whole tensor as a vector, widened.
  AlignedVector<float> values() const;
  // The mapped float32 elements themselves where type and alignment allow it, else empty. They
  // are not checked for NaN; see check_finite.
  std::span<const float> mapped_floats() const;
  // Throws BadInputError naming the first element of `values` that is NaN or infinite; values[0]
  // is element `first` of this tensor.
  void check_finite(std::span<const float> values, Index first = 0) const;
  // Throws BadInputError unless the shape is this; -1 stands for any size.
  void require_shape(std::span<const Index> expected) const;

 private:
  void widen_stored(std::span<float> out, Index first) const;
};

// One safetensors file. As in the reference implementation the tensors must tile the data without
// gaps or overlaps; names must be unique.
class Safetensors {
 public:
  static Safetensors open(const std::string& path);
  // Parses bytes that the caller keeps alive; `name` stands for the path in messages.
  static Safetensors view(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // By ascending name.
  std::span<const TensorView> tensors() const { return tensors_; }
  const TensorView* find(std::string_view name) const;
  const TensorView& require(std::string_view name) const;
  // SHA-256 in hex of the length field, the JSON header and, by ascending name, of each tensor: all
  // of it up to 16 KiB, beyond that four parts of 4 KiB, the first, the last and two evenly
  // between. It tells two trainings of one model apart, and reads little of a large one.
  const std::string& sha256() const { return sha256_; }
  // Throws BadInputError, which says what changed, unless the path names the file that was opened,
  // and nobody wrote to it since.
  void require_unchanged() const;

 private:
  struct Storage;
  Safetensors(std::shared_ptr<const Storage> storage, std::span<const std::byte> bytes);

  std::shared_ptr<const Storage> storage_;
  std::string sha256_;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorView> tensors_;
};

// A tensor to be written; `bytes` has the size that dtype and shape say.
struct TensorData {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Index> shape;
  std::span<const std::byte> bytes;
};
// Writes a safetensors file atomically (ResourceError where that fails). Tensors are laid out by
// falling element size and then in the order given, so that each is aligned.
void write_safetensors(const std::string& path, std::span<const TensorData> tensors,
                       const std::map<std::string, std::string>& metadata = {});
// A tensor of float32 values.
TensorData float_tensor(std::string name, std::vector<Index> shape, std::span<const float> values);

// Typed reading of a config.json; every fault names file, field, what was expected and found.
class ConfigReader {
 public:
  static ConfigReader open(const std::string& path);
  // `file` stands for the path in messages.
  ConfigReader(std::string_view text, std::string file);

  // Whether the field is there and not null.
  bool has(std::string_view key) const;
  // T: bool, int, std::int64_t, double, std::string, or a std::vector of int, double or
  // std::string.
  template <class T>
  T get(std::string_view key) const;
  // The default where the field is missing or null.
  template <class T>
  T get_or(std::string_view key, T otherwise) const {
    return has(key) ? get<T>(key) : otherwise;
  }
  // An integer in [least, most].
  Index get_size(std::string_view key, Index least = 1,
                 Index most = std::numeric_limits<std::int32_t>::max()) const;
  // A number in [least, most]; the default where the field is missing or null.
  double get_number(std::string_view key, double otherwise, double least, double most) const;
  // A nested object, such as rope_scaling.
  ConfigReader child(std::string_view key) const;
  // "FILE: field KEY", for messages.
  std::string where(std::string_view key) const;
  const std::string& file() const { return file_; }
  // Of the text that was read, in hex; empty for a child.
  const std::string& sha256() const { return sha256_; }
  const nlohmann::json& json() const { return *json_; }

 private:
  ConfigReader(std::shared_ptr<const nlohmann::json> json, std::string file, std::string prefix);
  const nlohmann::json& at(std::string_view key, std::string_view expected) const;

  std::shared_ptr<const nlohmann::json> json_;  // a child shares its parent's
  std::string file_;
  std::string sha256_;
  std::string prefix_;  // "rope_scaling." in a child
};

// What a MODEL argument means.
struct ResolvedModel {
  enum class Kind { checkpoint, dump };
  Kind kind = Kind::checkpoint;
  std::string name;                  // as the user gave it
  std::string folder;                // of the weights
  std::string config_file;           // empty for a dump and a GGUF file
  std::string index_file;            // model.safetensors.index.json; empty if not sharded
  std::vector<std::string> weights;  // safetensors files, ascending; one unless sharded
  bool gguf = false;                 // the one file of the weights is GGUF, with all in it
  // What Tokenizer::load() takes: the folder, or the GGUF file.
  const std::string& tokenizer() const { return gguf ? weights.front() : folder; }
};

// Reads an environment variable; nullptr where it is not set.
using Environment = std::function<const char*(const char*)>;

// MODEL is a folder, a .safetensors file beside its config.json, a .gguf file, a dump file, or the
// name of a model in the Hugging Face cache (HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME as
// huggingface_hub reads them). A path that exists wins over a name, and safetensors in a folder
// over a GGUF file, of which it may hold one.
ResolvedModel resolve_model(const std::string& model);
ResolvedModel resolve_model(const std::string& model, const Environment& environment);

class Gguf;

// The config and the tensors of a model, from one file or many. Those of a GGUF file have the names
// of Hugging Face, and its metadata are a config.
class Checkpoint {
 public:
  // Copies share the mapped files.
  explicit Checkpoint(const ResolvedModel& model);
  // The folder, file or name as resolve_model understands it.
  static Checkpoint open(const std::string& model) { return Checkpoint(resolve_model(model)); }

  const ConfigReader& config() const { return config_; }
  const ResolvedModel& model() const { return model_; }
  // nullptr where there is none of that name.
  const TensorView* find(std::string_view name) const;
  // Throws BadInputError naming the tensor where it is missing or not of that shape; -1 in a shape
  // stands for any size.
  const TensorView& require(std::string_view name, std::initializer_list<Index> shape) const;
  const TensorView& require(std::string_view name, std::span<const Index> shape) const;
  // All names, ascending.
  std::vector<std::string_view> names() const;
  // The file that all is in, where it is a GGUF file; else null.
  const Gguf* gguf() const { return gguf_.get(); }
  // Bytes of all tensors.
  std::size_t bytes() const;
  // The metadata of a GGUF file in a few words each: `"llama"`, `a list of 49152 texts`.
  std::map<std::string, std::string> metadata() const;
  // Safetensors::sha256() of the weight file as it was opened; of several, the SHA-256 of theirs,
  // in hex one after another.
  const std::string& weights_sha256() const { return weights_sha256_; }
  // Throws BadInputError, which says what changed, unless the paths name the weight files that were
  // opened, and nobody wrote to them since.
  void require_unchanged() const;

 private:
  void open_gguf();
  void open_safetensors();

  ResolvedModel model_;
  ConfigReader config_;
  std::vector<Safetensors> files_;
  std::shared_ptr<const Gguf> gguf_;  // in place of files_
  std::string weights_sha256_;
  std::map<std::string, TensorView, std::less<>> tensors_;
};

// Dumped attention tensors of any model (docs/formats.md): per layer q and k, or scores, and
// perhaps v and x. All layers have the same sizes.
class DumpFile {
 public:
  struct Layer {
    const TensorView* q = nullptr;       // heads x L x d
    const TensorView* k = nullptr;       // kv_heads x L x d
    const TensorView* v = nullptr;       // kv_heads x L x d_v
    const TensorView* x = nullptr;       // L x d_x: the layer's own, or the one of all layers
    const TensorView* scores = nullptr;  // heads x L x L, in place of q and k
  };
  static constexpr std::string_view kFormat = "headgauge.dump/1";

  explicit DumpFile(const std::string& path) : DumpFile(Safetensors::open(path)) {}
  explicit DumpFile(Safetensors file);
  DumpFile(DumpFile&&) = default;
  DumpFile& operator=(DumpFile&&) = default;
  // Whether the metadata says that this is a dump.
  static bool recognises(const Safetensors& file);

  const Safetensors& file() const { return file_; }
  // All layers of the model; those without attention hold nothing.
  std::span<const Layer> layers() const { return layers_; }
  const std::vector<int>& without_attention() const { return without_attention_; }
  // The first layer that attends; the others that do have the same shapes.
  const Layer& first_layer() const { return layers_[first_]; }
  Index heads() const { return heads_; }
  Index kv_heads() const { return kv_heads_; }
  Index length() const { return length_; }
  Index head_dim() const { return head_dim_; }    // 0 where there are only scores
  Index value_dim() const { return value_dim_; }  // 0 without v
  Index x_dim() const { return x_dim_; }          // 0 without x
  bool shares_x() const { return shares_x_; }     // one x for all layers
  bool has_scores() const { return first_layer().scores != nullptr; }
  bool causal() const { return causal_; }
  float scale() const { return scale_; }  // of <q, k>; 1 for scores, which are scaled already

 private:
  Safetensors file_;
  std::vector<Layer> layers_;
  std::vector<int> without_attention_;
  std::size_t first_ = 0;  // that attends
  Index heads_ = 0;
  Index kv_heads_ = 0;
  Index length_ = 0;
  Index head_dim_ = 0;
  Index value_dim_ = 0;
  Index x_dim_ = 0;
  bool shares_x_ = false;
  bool causal_ = true;
  float scale_ = 1.0f;
};

}  // namespace headgauge
