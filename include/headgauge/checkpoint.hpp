// Reads checkpoints: safetensors files (sharded or not), config.json, GGUF files, folders of the
// Hugging Face cache, and files of dumped attention tensors. Nothing in a file is trusted: any
// fault throws a BadInputError that names the file and the tensor or field.
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
// Returns the elements per block: 1 except for quantised types.
int dtype_block(DType dtype);
// Returns the bits per block.
int dtype_bits(DType dtype);

// Formats a shape: "[768, 2304]".
std::string shape_text(std::span<const Index> shape);

// One tensor inside a mapped file, valid as long as the file's Safetensors or Checkpoint.
struct TensorView {
  std::string_view file;
  std::string name;
  DType dtype = DType::F32;
  std::vector<Index> shape;
  std::span<const std::byte> bytes;  // little-endian, row-major, any alignment
  // The number of rows (or vector elements) per group; 0: not interleaved. Row i of the first half
  // of a group is stored at 2 i, and row i of its second half at 2 i + 1: llama.cpp's order of a
  // head's queries and keys. widen() restores the order.
  Index interleaved = 0;
  // The bytes hold the transpose of this matrix. Widening a range of it is slow.
  bool transposed = false;
  float added = 0;  // added to each element by widen(): the file stores gemma's norms with 1 added

  Index elements() const;
  // Returns the matrix as stored, if this view is its transpose.
  TensorView transpose() const;
  // Returns "FILE: tensor NAME", for messages.
  std::string where() const;
  // Converts elements [first, first + out.size()) to float32. f16 and bf16 are exact, f64 is
  // rounded, quantised types match the Python package gguf. Throws BadInputError naming the
  // position of the first NaN or infinity, unless `check` is false. Throws UnsupportedError for
  // types other than quantised ones and floating-point ones of at least 16 bits.
  void widen(std::span<float> out, Index first = 0, bool check = true) const;
  // Returns the whole tensor of one (1 x n) or two dimensions, widened.
  Matrix<float> matrix() const;
  // Returns the whole tensor as a vector, widened.
  AlignedVector<float> values() const;
  // Returns the mapped float32 elements themselves if type and alignment allow it, else an empty
  // span. They are not checked for NaN; see check_finite.
  std::span<const float> mapped_floats() const;
  // Throws BadInputError naming the first element of `values` that is NaN or infinite; values[0]
  // is element `first` of this tensor.
  void check_finite(std::span<const float> values, Index first = 0) const;
  // Lets the system take back the memory of mapped bytes, which are read again when needed.
  void release() const noexcept;
  // Throws BadInputError unless the shape is this one; -1 matches any size.
  void require_shape(std::span<const Index> expected) const;

 private:
  void widen_stored(std::span<float> out, Index first) const;
};

// One safetensors file. As in the reference implementation, the tensors must fill the data without
// gaps or overlaps, and names must be unique.
class Safetensors {
 public:
  static Safetensors open(const std::string& path);
  // Parses bytes that the caller keeps alive; `name` replaces the path in messages.
  static Safetensors view(std::span<const std::byte> bytes, std::string name);

  const std::string& path() const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // Returns the tensors by ascending name.
  std::span<const TensorView> tensors() const { return tensors_; }
  const TensorView* find(std::string_view name) const;
  const TensorView& require(std::string_view name) const;
  // Returns a SHA-256 in hex of the length field, the JSON header and the tensors by ascending
  // name. A tensor up to 16 KiB counts whole, a larger one by four parts of 4 KiB: the first, the
  // last and two evenly spaced between. This distinguishes two trainings of one model and reads
  // little of a large file.
  const std::string& sha256() const { return sha256_; }
  // Throws BadInputError, which says what changed, if the path no longer names the opened file or
  // the file was written to.
  void require_unchanged() const;

 private:
  struct Storage;
  Safetensors(std::shared_ptr<const Storage> storage, std::span<const std::byte> bytes);

  std::shared_ptr<const Storage> storage_;
  std::string sha256_;
  std::map<std::string, std::string> metadata_;
  std::vector<TensorView> tensors_;
};

// A tensor to write; the size of `bytes` must match dtype and shape.
struct TensorData {
  std::string name;
  DType dtype = DType::F32;
  std::vector<Index> shape;
  std::span<const std::byte> bytes;
};
// Writes a safetensors file atomically; ResourceError on failure. Orders tensors by decreasing
// element size, then as given, so that each is aligned.
void write_safetensors(const std::string& path, std::span<const TensorData> tensors,
                       const std::map<std::string, std::string>& metadata = {});
// Describes a tensor of float32 values.
TensorData float_tensor(std::string name, std::vector<Index> shape, std::span<const float> values);

// Reads typed fields of a config.json. Every error names the file, the field, and the expected and
// found value.
class ConfigReader {
 public:
  static ConfigReader open(const std::string& path);
  // `file` replaces the path in messages. `names` are what fields are called there, if otherwise:
  // the keys of a GGUF file's metadata.
  ConfigReader(std::string_view text, std::string file,
               std::map<std::string, std::string> names = {});

  // Returns whether the field exists and is not null.
  bool has(std::string_view key) const;
  // Returns the second name of a field if there is such a field, else the first.

  std::string_view either(std::string_view a, std::string_view b) const { return has(b) ? b : a; }
  // T: bool, int, std::int64_t, double, std::string, or a std::vector of int, double or
  // std::string.
  template <class T>
  T get(std::string_view key) const;
  // Returns the default if the field is missing or null.
  template <class T>
  T get_or(std::string_view key, T otherwise) const {
    return has(key) ? get<T>(key) : otherwise;
  }
  // Returns an integer in [least, most].
  Index get_size(std::string_view key, Index least = 1,
                 Index most = std::numeric_limits<std::int32_t>::max()) const;
  // Returns a number in [least, most], or the default if the field is missing or null.
  double get_number(std::string_view key, double otherwise, double least, double most) const;
  // Returns a nested object, such as rope_scaling, with those of the `inherited` fields of this one
  // that it lacks.
  ConfigReader child(std::string_view key, std::initializer_list<const char*> inherited = {}) const;
  // Returns "FILE: field KEY", for messages.
  std::string where(std::string_view key) const;
  const std::string& file() const { return file_; }
  // Returns the checksum of the whole text in hex.
  const std::string& sha256() const { return sha256_; }
  const nlohmann::json& json() const { return *json_; }

 private:
  [[noreturn]] void refuse(std::string_view key, std::string_view expected,
                           std::string_view found) const;
  const nlohmann::json& at(std::string_view key, std::string_view expected) const;

  std::shared_ptr<const nlohmann::json> json_;  // a child shares its parent's
  std::string file_;
  std::map<std::string, std::string> names_;
  std::string sha256_;
  std::string prefix_;  // "rope_scaling." in a child
};

// The files that a MODEL argument refers to.
struct ResolvedModel {
  enum class Kind { checkpoint, dump };
  Kind kind = Kind::checkpoint;
  std::string name;                  // as the user gave it
  std::string folder;                // folder of the weights
  std::string config_file;           // empty for a dump and a GGUF file
  std::string index_file;            // model.safetensors.index.json; empty if not sharded
  std::vector<std::string> weights;  // safetensors files, ascending; one unless sharded
  bool gguf = false;  // the only file is a GGUF file, which holds config, weights and tokenizer
  // Returns the argument for Tokenizer::load(): the folder or the GGUF file.
  const std::string& tokenizer() const { return gguf ? weights.front() : folder; }
};

// Reads an environment variable; nullptr if it is not set.
using Environment = std::function<const char*(const char*)>;

// Resolves MODEL: a folder, a .safetensors file next to its config.json, a .gguf file, a dump file,
// or the name of a model in the Hugging Face cache (HF_HUB_CACHE, HF_HOME and XDG_CACHE_HOME, read
// as huggingface_hub does). An existing path takes precedence over a name, and safetensors in a
// folder over a GGUF file. A folder may hold at most one GGUF file.
ResolvedModel resolve_model(const std::string& model);
ResolvedModel resolve_model(const std::string& model, const Environment& environment);

class Gguf;

// The config and tensors of a model, from one or more files. A GGUF file's tensors get Hugging Face
// names, and its metadata become a config.
class Checkpoint {
 public:
  // Opens the files; copies of a Checkpoint share them.
  explicit Checkpoint(const ResolvedModel& model);
  // `model`: a folder, file or name, see resolve_model().
  static Checkpoint open(const std::string& model) { return Checkpoint(resolve_model(model)); }

  const ConfigReader& config() const { return config_; }
  const ResolvedModel& model() const { return model_; }
  // Returns nullptr if there is no such tensor.
  const TensorView* find(std::string_view name) const;
  // Returns whether the name of any tensor begins with this.
  bool has_prefix(std::string_view prefix) const;
  // Throws BadInputError naming the tensor if it is missing or has another shape; -1 in a shape
  // matches any size.
  const TensorView& require(std::string_view name, std::initializer_list<Index> shape) const;
  const TensorView& require(std::string_view name, std::span<const Index> shape) const;
  // Returns whether two of its tensors have the same bytes. It compares the same two once, also for
  // copies of the Checkpoint.
  bool are_equal(const TensorView& a, const TensorView& b) const;
  // Returns all names, ascending.
  std::vector<std::string_view> names() const;
  // Returns the GGUF file, or null if the checkpoint is not one.
  const Gguf* gguf() const { return gguf_.get(); }
  // Returns the total bytes of all tensors.
  std::size_t bytes() const;
  // Describes each metadata entry of a GGUF file: `"llama"`, `a list of 49152 texts`.
  std::map<std::string, std::string> metadata() const;
  // Returns a sentence for each value that a GGUF file does not state and that llama.cpp takes.
  const std::vector<std::string>& notices() const { return notices_; }
  // Returns Safetensors::sha256() of the weight file when it was opened. For several files, returns
  // the SHA-256 of their hex checksums, concatenated.
  const std::string& weights_sha256() const { return weights_sha256_; }
  // Throws BadInputError, which says what changed, if a path no longer names the opened weight file
  // or a file was written to.
  void require_unchanged() const;
  // Lets the system take back the memory of all tensors: TensorView::release().
  void release() const noexcept;

 private:
  void open_gguf();
  void open_safetensors();
  void take_text_part();

  ResolvedModel model_;
  ConfigReader config_;
  std::vector<Safetensors> files_;
  std::shared_ptr<const Gguf> gguf_;  // instead of files_
  std::string weights_sha256_;
  std::map<std::string, TensorView, std::less<>> tensors_;
  using Compared = std::map<std::pair<const std::byte*, const std::byte*>, bool>;
  std::shared_ptr<Compared> compared_ = std::make_shared<Compared>();
  std::vector<std::string> notices_;
};

// Dumped attention tensors of any model (docs/formats.md): q and k (or scores) per layer, and
// optionally v and x. All layers have the same sizes.
class DumpFile {
 public:
  struct Layer {
    const TensorView* q = nullptr;       // heads x L x d
    const TensorView* k = nullptr;       // kv_heads x L x d
    const TensorView* v = nullptr;       // kv_heads x L x d_v
    const TensorView* x = nullptr;       // L x d_x: per layer or shared by all layers
    const TensorView* scores = nullptr;  // heads x L x L, instead of q and k
  };
  static constexpr std::string_view kFormat = "headgauge.dump/1";

  explicit DumpFile(const std::string& path) : DumpFile(Safetensors::open(path)) {}
  explicit DumpFile(Safetensors file);
  DumpFile(DumpFile&&) = default;
  DumpFile& operator=(DumpFile&&) = default;
  // Returns whether the metadata declare a dump.
  static bool recognises(const Safetensors& file);

  const Safetensors& file() const { return file_; }
  // Returns all layers of the model; layers without attention are empty.
  std::span<const Layer> layers() const { return layers_; }
  const std::vector<int>& without_attention() const { return without_attention_; }
  // Returns the first layer with attention; all others with attention have the same shapes.
  const Layer& first_layer() const { return layers_[first_]; }
  Index heads() const { return heads_; }
  Index kv_heads() const { return kv_heads_; }
  Index length() const { return length_; }
  Index head_dim() const { return head_dim_; }    // 0 if there are only scores
  Index value_dim() const { return value_dim_; }  // 0 without v
  Index x_dim() const { return x_dim_; }          // 0 without x
  bool shares_x() const { return shares_x_; }     // one x for all layers
  bool has_scores() const { return first_layer().scores != nullptr; }
  bool causal() const { return causal_; }
  float scale() const { return scale_; }  // scale of <q, k>; 1 for scores, which are already scaled

 private:
  Safetensors file_;
  std::vector<Layer> layers_;
  std::vector<int> without_attention_;
  std::size_t first_ = 0;  // first layer with attention
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
