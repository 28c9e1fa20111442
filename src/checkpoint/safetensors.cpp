// Reads safetensors. Layout of a file: 8 bytes N, little-endian; N bytes of JSON; the data. The
// JSON maps each name to {"dtype", "shape", "data_offsets": [begin, end]}, with offsets relative to
// the beginning of the data; "__metadata__" maps text to text.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/mapped_file.hpp"
#include "base/strict_json.hpp"
#include "checkpoint/sampled_sum.hpp"
#include "headgauge/checkpoint.hpp"

namespace headgauge {

struct Safetensors::Storage {
  std::string path;
  std::unique_ptr<MappedFile> map;  // null if the caller owns the bytes
};

namespace {

using Json = nlohmann::json;
constexpr std::uint64_t kMaxHeader = 100'000'000;  // as in the reference implementation
constexpr std::uint64_t kMaxIndex = std::numeric_limits<Index>::max();
constexpr const char* kDamaged = "the file is damaged; fetch or write it again";

std::optional<DType> dtype_from_name(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::U64); ++i) {
    if (dtype_name(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::string known_dtypes() {
  std::string list;
  for (int i = 0; i <= static_cast<int>(DType::U64); ++i) {
    list += (i == 0 ? "" : ", ") + std::string(dtype_name(static_cast<DType>(i)));
  }
  return list;
}

// A tensor as described in the header, not yet checked against the data.
struct Entry {
  TensorView view;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Reads one entry of the header; `view.file` and `view.name` are set already.
class EntryReader {
 public:
  EntryReader(Entry& entry, const Json& json) : entry_(entry), json_(json) {}

  void read() {
    if (!json_.is_object()) refuse("an object with dtype, shape and data_offsets", describe(json_));
    read_dtype();
    read_shape();
    read_offsets();
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const {
    throw BadInputError(fault(entry_.view.where(), expected, found, kDamaged));
  }

  const Json& field(const char* name) const {
    const auto it = json_.find(name);
    if (it == json_.end()) refuse(std::string("a field ") + name, "none");
    return *it;
  }

  void read_dtype() {
    const Json& json = field("dtype");
    if (!json.is_string()) refuse("a dtype in text", describe(json));
    const auto dtype = dtype_from_name(json.get_ref<const std::string&>());
    refuse_if(!dtype, entry_.view.where(), "a dtype among " + known_dtypes(),
              in_quotes(json.get_ref<const std::string&>()),
              "use a copy of the model in a known type");
    entry_.view.dtype = *dtype;
  }

  std::vector<std::uint64_t> read_sizes(const char* name) const {
    const Json& json = field(name);
    if (!json.is_array()) refuse(std::string("a list as ") + name, describe(json));
    std::vector<std::uint64_t> sizes;
    for (const Json& item : json) {
      if (!item.is_number_unsigned() || item.get<std::uint64_t>() > kMaxIndex) {
        refuse(std::string("sizes from 0 to 2^63 - 1 in ") + name, describe(item));
      }
      sizes.push_back(item.get<std::uint64_t>());
    }
    return sizes;
  }

  void read_shape() {
    for (const std::uint64_t size : read_sizes("shape")) {
      entry_.view.shape.push_back(static_cast<Index>(size));
    }
  }

  void read_offsets() {
    const auto offsets = read_sizes("data_offsets");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      refuse("data_offsets [begin, end] with begin <= end", field("data_offsets").dump());
    }
    entry_.begin = offsets[0];
    entry_.end = offsets[1];

    std::uint64_t bits = static_cast<std::uint64_t>(dtype_bits(entry_.view.dtype));
    bool overflow = false;
    for (const Index size : entry_.view.shape) {
      overflow |= __builtin_mul_overflow(bits, static_cast<std::uint64_t>(size), &bits);
    }
    const std::string what =
        std::string(dtype_name(entry_.view.dtype)) + " of shape " + shape_text(entry_.view.shape);
    if (overflow || bits > kMaxIndex) refuse("a size in 63 bits", what);
    if (bits % 8 != 0) refuse("a whole number of bytes", what);
    if (bits / 8 != entry_.end - entry_.begin) {
      refuse(std::to_string(bits / 8) + " bytes for " + what,
             "data_offsets " + field("data_offsets").dump() + " of " +
                 std::to_string(entry_.end - entry_.begin) + " bytes");
    }
  }

  Entry& entry_;
  const Json& json_;
};

// Requires that the tensors fill the data without gaps, from the first byte to the last.
void require_tiling(std::vector<Entry>& entries, const std::string& path, std::uint64_t data) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t position = 0;
  const Entry* previous = nullptr;
  for (const Entry& entry : entries) {
    const std::string range = fmt::format("[{}, {})", entry.begin, entry.end);
    refuse_if(entry.end > data, entry.view.where(),
              "data within the " + std::to_string(data) + " bytes of the file", "bytes " + range,
              "the file is cut short; fetch it again");
    if (entry.begin != position) {
      const bool overlap = entry.begin < position;
      const std::string after =
          previous == nullptr ? "the beginning" : "the end of " + in_quotes(previous->view.name);
      throw BadInputError(
          fault(entry.view.where(), "data from byte " + std::to_string(position) + ", " + after,
                std::string(overlap ? "an overlap" : "a gap") + ", bytes " + range, kDamaged));
    }
    position = entry.end;
    previous = &entry;
  }
  refuse_if(position != data, path, std::to_string(position) + " bytes of tensors",
            std::to_string(data) + " bytes of data", kDamaged);
}

std::map<std::string, std::string> read_metadata(const Json& json, const std::string& path) {
  std::map<std::string, std::string> metadata;
  if (json.is_null()) return metadata;
  refuse_if(!json.is_object(), path + ": __metadata__", "an object", describe(json), kDamaged);
  for (const auto& [key, value] : json.items()) {
    refuse_if(!value.is_string(), path + ": __metadata__ " + in_quotes(key), "text",
              describe(value), kDamaged);
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

}  // namespace

Safetensors Safetensors::open(const std::string& path) {
  auto storage = std::make_shared<Storage>();
  storage->path = path;
  storage->map = std::make_unique<MappedFile>(path);
  const auto bytes = storage->map->bytes();
  return Safetensors(std::move(storage), bytes);
}

Safetensors Safetensors::view(std::span<const std::byte> bytes, std::string name) {
  auto storage = std::make_shared<Storage>();
  storage->path = std::move(name);
  return Safetensors(std::move(storage), bytes);
}

Safetensors::Safetensors(std::shared_ptr<const Storage> storage, std::span<const std::byte> bytes)
    : storage_(std::move(storage)) {
  refuse_if(bytes.size() < 8, path(), "a safetensors file: 8 bytes of header length",
            std::to_string(bytes.size()) + " bytes", kDamaged);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  const std::uint64_t room = std::min<std::uint64_t>(bytes.size() - 8, kMaxHeader);
  if (length > room) {
    refuse_stand_in({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path(),
                    "a safetensors file", true);
    throw BadInputError(fault(path(),
                              "a safetensors header of at most " + std::to_string(room) + " bytes",
                              "a header length of " + std::to_string(length),
                              "the file is cut short or not in the safetensors format"));
  }
  const auto head = bytes.first(static_cast<std::size_t>(8 + length));
  const auto data = bytes.subspan(head.size());
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8,
                              static_cast<std::size_t>(length));
  refuse_if(!text.starts_with('{'), path(), "a safetensors header that begins with {",
            in_quotes(text.substr(0, 8)), "the file is damaged or not in the safetensors format");
  const Json header = parse_json_object(text, path() + ": header");

  std::vector<Entry> entries;
  entries.reserve(header.size());
  for (const auto& [name, json] : header.items()) {
    if (name == "__metadata__") {
      metadata_ = read_metadata(json, path());
      continue;
    }
    Entry& entry = entries.emplace_back();
    entry.view.file = path();
    entry.view.name = name;
    EntryReader(entry, json).read();
  }
  require_tiling(entries, path(), data.size());
  for (Entry& entry : entries) {
    entry.view.bytes = data.subspan(static_cast<std::size_t>(entry.begin),
                                    static_cast<std::size_t>(entry.end - entry.begin));
    tensors_.push_back(std::move(entry.view));
  }
  std::sort(tensors_.begin(), tensors_.end(),
            [](const TensorView& a, const TensorView& b) { return a.name < b.name; });
  sha256_ = sampled_sha256(head, tensors_);
}

void Safetensors::require_unchanged() const {
  if (storage_->map != nullptr) storage_->map->require_unchanged();
}

const std::string& Safetensors::path() const {
  return storage_->path;
}

const TensorView* Safetensors::find(std::string_view name) const {
  const auto it = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const TensorView& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return it != tensors_.end() && it->name == name ? &*it : nullptr;
}

const TensorView& Safetensors::require(std::string_view name) const {
  if (const TensorView* tensor = find(name)) return *tensor;
  throw BadInputError(fault(path(), "a tensor " + in_quotes(name),
                            "no tensor of that name among " + std::to_string(tensors_.size()),
                            "the file is incomplete or belongs to another model"));
}

}  // namespace headgauge
