#include "checkpoint/gguf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "base/file.hpp"
#include "base/mapped_file.hpp"
#include "base/strict_json.hpp"
#include "base/utf8.hpp"
#include "checkpoint/sampled_sum.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::json;
using Type = GgufValue::Type;

constexpr std::string_view kMagic = "GGUF";
constexpr const char* kDamagedGguf = "the file is damaged; fetch or write it again";
constexpr const char* kCutShort = "the file is cut short; fetch it again";
constexpr std::uint64_t kMostEntries = 65536;  // entries and tensors; models have hundreds
constexpr std::uint64_t kLongestName = 65535;
constexpr std::uint32_t kLargestAlignment = 1 << 20;

// Returns the bytes of a value of fixed size; 0 for texts and lists.
std::size_t size_of(Type type) {
  constexpr std::array<std::size_t, 13> kSizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return kSizes[static_cast<std::size_t>(type)];
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Returns the shortest decimal that reads back as this float32, which is how the original config
// wrote it.
double shortest_decimal(float value) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  double wide = value;
  std::from_chars(text.data(), end, wide);
  return wide;
}

Json number_at(Type type, const std::byte* from) {
  switch (type) {
    case Type::u8:
      return load<std::uint8_t>(from);
    case Type::i8:
      return load<std::int8_t>(from);
    case Type::u16:
      return load<std::uint16_t>(from);
    case Type::i16:
      return load<std::int16_t>(from);
    case Type::u32:
      return load<std::uint32_t>(from);
    case Type::i32:
      return load<std::int32_t>(from);
    case Type::f32:
      return shortest_decimal(load<float>(from));
    case Type::boolean:
      return load<std::uint8_t>(from) != 0;
    case Type::u64:
      return load<std::uint64_t>(from);
    case Type::i64:
      return load<std::int64_t>(from);
    case Type::f64:
      return load<double>(from);
    case Type::text:
    case Type::list:
      break;
  }
  return nullptr;
}

// The name of a tensor type, and its DType if headgauge reads it.
struct TensorType {
  std::uint32_t id;
  const char* name;
  std::optional<DType> dtype;
};
constexpr TensorType kTensorTypes[] = {
    {0, "F32", DType::F32},    {1, "F16", DType::F16},    {2, "Q4_0", DType::Q4_0},
    {3, "Q4_1", DType::Q4_1},  {6, "Q5_0", DType::Q5_0},  {7, "Q5_1", DType::Q5_1},
    {8, "Q8_0", DType::Q8_0},  {9, "Q8_1", {}},           {10, "Q2_K", DType::Q2_K},
    {11, "Q3_K", DType::Q3_K}, {12, "Q4_K", DType::Q4_K}, {13, "Q5_K", DType::Q5_K},
    {14, "Q6_K", DType::Q6_K}, {15, "Q8_K", {}},          {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},        {18, "IQ3_XXS", {}},       {19, "IQ1_S", {}},
    {20, "IQ4_NL", {}},        {21, "IQ3_S", {}},         {22, "IQ2_S", {}},
    {23, "IQ4_XS", {}},        {24, "I8", DType::I8},     {25, "I16", DType::I16},
    {26, "I32", DType::I32},   {27, "I64", DType::I64},   {28, "F64", DType::F64},
    {29, "IQ1_M", {}},         {30, "BF16", DType::BF16}, {34, "TQ1_0", {}},
    {35, "TQ2_0", {}},         {39, "MXFP4", {}},         {40, "NVFP4", {}},
};

// Reads everything before the data.
class GgufReader {
 public:
  GgufReader(std::span<const std::byte> bytes, const std::string& path)
      : bytes_(bytes), path_(path) {}

  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

  std::span<const std::byte> take(std::uint64_t size, const std::string& what) {
    if (size > left()) {
      throw BadInputError(fault(path_, fmt::format("{} bytes of {}", size, what),
                                fmt::format("{} from byte {} on", left(), at_), kCutShort));
    }
    const auto part = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += part.size();
    return part;
  }
  template <class T>
  T number(const std::string& what) {
    return load<T>(take(sizeof(T), what).data());
  }
  std::string_view text(const std::string& what) {
    const auto part = take(number<std::uint64_t>("the length of " + what), what);
    return {reinterpret_cast<const char*>(part.data()), part.size()};
  }
  std::string name(const std::string& what) {
    const std::string_view name = text(what);
    const bool fine = !name.empty() && name.size() <= kLongestName &&
                      find_invalid_utf8(name) == std::string_view::npos;
    if (!fine) {
      refuse(fmt::format("{} of 1 to {} bytes of UTF-8", what, kLongestName), in_quotes(name));
    }
    return std::string(name);
  }
  Type type(const std::string& what) {
    const auto id = number<std::uint32_t>("the type of " + what);
    if (id > static_cast<std::uint32_t>(Type::f64)) {
      refuse("a type from 0 to 12 of " + what, std::to_string(id));
    }
    return static_cast<Type>(id);
  }
  GgufValue value(const std::string& what) {
    GgufValue value;
    value.type = type(what);
    if (value.is_list()) {
      read_list(value, what);
    } else if (value.type == Type::text) {
      const std::string_view found = text(what);
      if (find_invalid_utf8(found) != std::string_view::npos) {
        refuse("UTF-8 as " + what, in_quotes(found));
      }
      value.scalar = std::string(found);
    } else {
      const auto from = take(size_of(value.type), what);
      require_truth(value.type, from, what);
      value.scalar = number_at(value.type, from.data());
      if (value.scalar.is_number_float() && !std::isfinite(value.scalar.get<double>())) {
        refuse("a finite number as " + what, "NaN or infinity");
      }
    }
    return value;
  }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const {
    throw BadInputError(fault(path_, expected, found, kDamagedGguf));
  }

  void require_truth(Type type, std::span<const std::byte> values, const std::string& what) const {
    if (type != Type::boolean) return;
    const auto other = std::ranges::find_if(values, [](std::byte b) { return b > std::byte{1}; });
    if (other != values.end()) {
      refuse("true (1) or false (0) in " + what, std::to_string(std::to_integer<int>(*other)));
    }
  }

  void read_list(GgufValue& value, const std::string& what) {
    value.item = type("the items of " + what);
    if (value.item == Type::list) refuse("numbers or texts in the list " + what, "lists");
    const auto count = number<std::uint64_t>("the number of items of " + what);
    const std::size_t size = value.item == Type::text ? 8 : size_of(value.item);
    if (count > left() / size) {
      throw BadInputError(
          fault(path_,
                fmt::format("at most {} items in {}, by the size of the file", left() / size, what),
                std::to_string(count), kCutShort));
    }
    value.count = static_cast<std::size_t>(count);
    const std::size_t from = at_;
    if (value.item == Type::text) {
      const std::string one = "a text of " + what;
      for (std::size_t i = 0; i < value.count; ++i) static_cast<void>(text(one));
    } else {
      require_truth(value.item, take(count * size, what), what);
    }
    value.items = bytes_.subspan(from, at_ - from);
  }

  std::span<const std::byte> bytes_;
  const std::string& path_;
  std::size_t at_ = 0;
};

void require_version(std::uint32_t version, const std::string& path) {
  if (version == 2 || version == 3) return;
  const std::uint32_t swapped = __builtin_bswap32(version);
  refuse_if<UnsupportedError>(swapped >= 1 && swapped <= 3, path, "little-endian numbers",
                              "a big-endian GGUF file",
                              "convert it with gguf-convert-endian of the Python package gguf");
  throw UnsupportedError(fault(path, "GGUF of version 2 or 3", "version " + std::to_string(version),
                               version < 2
                                   ? "convert the model anew with a current llama.cpp"
                                   : "use a later headgauge, or convert the model to version 3"));
}

// One tensor as the header describes it.
struct GgufTensor {
  TensorView view;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

[[noreturn]] void refuse_tensor(const TensorView& view, const std::string& expected,
                                const std::string& found) {
  throw BadInputError(fault(view.where(), expected, found, kDamagedGguf));
}

DType tensor_type(const TensorView& view, std::uint32_t id) {
  const auto* known = std::ranges::find(kTensorTypes, id, &TensorType::id);
  if (known != std::end(kTensorTypes) && known->dtype) return *known->dtype;
  std::string readable;
  for (const TensorType& type : kTensorTypes) {
    if (type.dtype) readable += (readable.empty() ? "" : ", ") + std::string(type.name);
  }
  throw UnsupportedError(
      fault(view.where(), "a type among " + readable,
            known != std::end(kTensorTypes) ? known->name : "type number " + std::to_string(id),
            "use a copy of the model in one of these, such as Q4_K_M or Q8_0"));
}

GgufTensor read_tensor(GgufReader& reader, const std::string& path, std::uint64_t alignment) {
  GgufTensor entry;
  TensorView& view = entry.view;
  view.file = path;
  view.name = reader.name("the name of a tensor");
  const auto dimensions = reader.number<std::uint32_t>("the dimensions of a tensor");
  if (dimensions < 1 || dimensions > 4) {
    refuse_tensor(view, "1 to 4 dimensions", std::to_string(dimensions));
  }
  std::array<std::uint64_t, 4> sizes{};
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    sizes[i] = reader.number<std::uint64_t>("the sizes of a tensor");
  }
  view.dtype = tensor_type(view, reader.number<std::uint32_t>("the type of a tensor"));
  const auto block = static_cast<std::uint64_t>(dtype_block(view.dtype));
  if (sizes[0] % block != 0) {
    refuse_tensor(
        view,
        fmt::format("rows of a multiple of {}, the block of {}", block, dtype_name(view.dtype)),
        std::to_string(sizes[0]));
  }
  constexpr std::uint64_t kMaxIndex = std::numeric_limits<Index>::max();
  std::uint64_t elements = 1, bits = 0;
  for (std::uint32_t i = dimensions; i-- > 0;) {
    const bool overflow = __builtin_mul_overflow(elements, sizes[i], &elements);
    if (sizes[i] == 0 || overflow || elements > kMaxIndex) {
      refuse_tensor(view, "sizes from 1 on, whose product fits in 63 bits",
                    fmt::format("size {} of dimension {}", sizes[i], i));
    }
    view.shape.push_back(static_cast<Index>(sizes[i]));
  }
  const auto block_bits = static_cast<std::uint64_t>(dtype_bits(view.dtype));
  if (__builtin_mul_overflow(elements / block, block_bits, &bits)) {
    refuse_tensor(view, "a size in 64 bits", "shape " + shape_text(view.shape));
  }
  entry.size = bits / 8;
  entry.offset = reader.number<std::uint64_t>("the offset of a tensor");
  if (entry.offset % alignment != 0) {
    refuse_tensor(view, fmt::format("an offset that is a multiple of {}", alignment),
                  std::to_string(entry.offset));
  }
  return entry;
}

// Refuses tensors that extend beyond the end or overlap.
void place(std::vector<GgufTensor>& entries, std::span<const std::byte> data) {
  std::ranges::sort(entries, {}, [](const GgufTensor& e) { return std::pair(e.offset, e.size); });
  const GgufTensor* previous = nullptr;
  std::uint64_t end = 0;
  for (GgufTensor& entry : entries) {
    refuse_if(entry.offset > data.size() || entry.size > data.size() - entry.offset,
              entry.view.where(), fmt::format("data within the {} bytes of the file", data.size()),
              fmt::format("{} bytes from {} on", entry.size, entry.offset), kCutShort);
    if (entry.offset < end) {
      refuse_tensor(
          entry.view,
          fmt::format("data from byte {} on, where {} ends", end, in_quotes(previous->view.name)),
          fmt::format("an overlap, from byte {}", entry.offset));
    }
    entry.view.bytes =
        data.subspan(static_cast<std::size_t>(entry.offset), static_cast<std::size_t>(entry.size));
    end = entry.offset + entry.size;
    previous = &entry;
  }
}

std::uint64_t count_of(GgufReader& reader, const std::string& path, const std::string& what) {
  const auto count = reader.number<std::uint64_t>("the number of " + what);
  if (count <= kMostEntries) return count;
  throw BadInputError(fault(path, fmt::format("at most {} {}", kMostEntries, what),
                            std::to_string(count), kDamagedGguf));
}

std::uint64_t alignment_of(const Gguf& file) {
  const GgufValue* value = file.find("general.alignment");
  if (value == nullptr) return 32;
  const bool fine = value->type == Type::u32 &&
                    std::has_single_bit(value->scalar.get<unsigned>()) &&
                    value->scalar.get<unsigned>() <= kLargestAlignment;
  if (fine) return value->scalar.get<std::uint64_t>();
  throw BadInputError(fault(file.where("general.alignment"),
                            fmt::format("a power of two up to {}", kLargestAlignment),
                            value->summary(), kDamagedGguf));
}

void refuse_split(const Gguf& file) {
  const GgufValue* count = file.find("split.count");
  if (count == nullptr || (count->scalar.is_number_integer() && count->scalar <= 1)) return;
  throw UnsupportedError(fault(file.path(), "a whole model",
                               "one of " + count->summary() + " files that it was split into",
                               "join them with `llama-gguf-split --merge` of llama.cpp"));
}

}  // namespace

std::vector<std::string_view> GgufValue::texts() const {
  std::vector<std::string_view> texts;
  texts.reserve(count);
  const std::byte* from = items.data();
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::size_t>(load<std::uint64_t>(from));
    texts.emplace_back(reinterpret_cast<const char*>(from) + 8, size);
    from += 8 + size;
  }
  return texts;
}

std::vector<nlohmann::json> GgufValue::numbers() const {
  std::vector<Json> numbers;
  numbers.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    numbers.push_back(number_at(item, items.data() + i * size_of(item)));
  }
  return numbers;
}

std::string GgufValue::summary() const {
  if (!is_list()) return describe(scalar);
  return fmt::format("a list of {} {}", count,
                     item == Type::text      ? "texts"
                     : item == Type::boolean ? "truth values"
                                             : "numbers");
}

bool is_gguf(const std::filesystem::path& path) {
  std::error_code none;  // an unreadable file is reported when it is opened
  if (!std::filesystem::is_regular_file(path, none)) return false;
  const auto file = std::filesystem::canonical(path, none);  // with links resolved
  return path.extension() == ".gguf" || beginning_of(file.string(), kMagic.size()) == kMagic;
}

Gguf Gguf::open(const std::string& path) {
  const auto map = std::make_shared<const MappedFile>(path);
  return Gguf(std::make_shared<const Storage>(Storage{path, map}), map->bytes());
}

Gguf Gguf::view(std::span<const std::byte> bytes, std::string name) {
  return Gguf(std::make_shared<const Storage>(Storage{std::move(name), nullptr}), bytes);
}

Gguf::Gguf(std::shared_ptr<const Storage> storage, std::span<const std::byte> bytes)
    : storage_(std::move(storage)) {
  GgufReader reader(bytes, path());
  const auto magic = bytes.first(std::min<std::size_t>(4, bytes.size()));
  const std::string_view found(reinterpret_cast<const char*>(magic.data()), magic.size());
  if (found != kMagic) {
    refuse_stand_in({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path(),
                    "a GGUF file", true);
    throw BadInputError(fault(path(), "a file that begins with GGUF", in_quotes(found),
                              "the file is damaged or not in the GGUF format"));
  }
  reader.take(4, "the magic");
  require_version(reader.number<std::uint32_t>("the version"), path());
  const std::uint64_t tensors = count_of(reader, path(), "tensors");
  const std::uint64_t entries = count_of(reader, path(), "entries of metadata");
  for (std::uint64_t i = 0; i < entries; ++i) {
    std::string key = reader.name("a key of the metadata");
    GgufValue value = reader.value("metadata " + in_quotes(key));
    refuse_if(!metadata_.emplace(key, std::move(value)).second, where(key), "each key once",
              "it twice", kDamagedGguf);
  }
  refuse_split(*this);
  const std::uint64_t alignment = alignment_of(*this);
  std::vector<GgufTensor> list;
  for (std::uint64_t i = 0; i < tensors; ++i) {
    list.push_back(read_tensor(reader, path(), alignment));
  }
  const std::uint64_t head = (reader.at() + alignment - 1) / alignment * alignment;
  place(list, bytes.subspan(std::min<std::size_t>(head, bytes.size())));
  for (GgufTensor& entry : list) tensors_.push_back(std::move(entry.view));
  std::ranges::sort(tensors_, {}, &TensorView::name);
  const auto twice = std::ranges::adjacent_find(tensors_, {}, &TensorView::name);
  if (twice != tensors_.end()) refuse_tensor(*twice, "each name once", "two tensors of it");
  sha256_ = sampled_sha256(bytes.first(reader.at()), tensors_);
}

const GgufValue* Gguf::find(std::string_view key) const {
  const auto it = metadata_.find(key);
  return it == metadata_.end() ? nullptr : &it->second;
}

std::string Gguf::text(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value != nullptr && value->type == Type::text) return value->scalar.get<std::string>();
  throw BadInputError(fault(where(key), "a text", value == nullptr ? "none" : value->summary(),
                            "use a file that llama.cpp's converter wrote"));
}

std::string Gguf::where(std::string_view key) const {
  return path() + ": metadata " + std::string(key);
}

void Gguf::require_unchanged() const {
  if (storage_->map != nullptr) storage_->map->require_unchanged();
}

}  // namespace headgauge
