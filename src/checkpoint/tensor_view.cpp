// Element types, and conversion of tensors to float32.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/mapped_file.hpp"
#include "base/non_finite.hpp"
#include "base/strict_json.hpp"
#include "checkpoint/blocks.hpp"
#include "headgauge/checkpoint.hpp"
#include "kernels/gemm.hpp"

namespace headgauge {
namespace {

struct DTypeInfo {
  std::string_view name;
  int bits;  // bits per block
  int block = 1;
};
constexpr std::array<DTypeInfo, 32> kDTypes = {{
    {"BOOL", 8},
    {"F4", 4},
    {"F6_E2M3", 6},
    {"F6_E3M2", 6},
    {"U8", 8},
    {"I8", 8},
    {"F8_E5M2", 8},
    {"F8_E4M3", 8},
    {"F8_E8M0", 8},
    {"F8_E5M2FNUZ", 8},
    {"F8_E4M3FNUZ", 8},
    {"I16", 16},
    {"U16", 16},
    {"F16", 16},
    {"BF16", 16},
    {"I32", 32},
    {"U32", 32},
    {"F32", 32},
    {"C64", 64},
    {"F64", 64},
    {"I64", 64},
    {"U64", 64},
    {"Q4_0", 8 * 18, 32},
    {"Q4_1", 8 * 20, 32},
    {"Q5_0", 8 * 22, 32},
    {"Q5_1", 8 * 24, 32},
    {"Q8_0", 8 * 34, 32},
    {"Q2_K", 8 * 84, 256},
    {"Q3_K", 8 * 110, 256},
    {"Q4_K", 8 * 144, 256},
    {"Q5_K", 8 * 176, 256},
    {"Q6_K", 8 * 210, 256},
}};
static_assert(std::endian::native == std::endian::little, "tensors are read as they lie");

// Converts elements of 16 bits through an aligned buffer, because they may be unaligned in the
// file.
void widen_halves(const std::byte* from, HalfType type, std::span<float> out) {
  std::array<std::uint16_t, 4096> buffer;
  while (!out.empty()) {
    const std::size_t n = std::min(buffer.size(), out.size());
    std::memcpy(buffer.data(), from, 2 * n);
    headgauge::widen(std::span(buffer).first(n), type, out.first(n));
    from += 2 * n;
    out = out.subspan(n);
  }
}

void round_doubles(const std::byte* from, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    double value;
    std::memcpy(&value, from + 8 * i, 8);
    out[i] = static_cast<float>(value);
  }
}

bool all_finite(std::span<const float> values) {
  std::int32_t bad = 0;
  for (const float value : values) {
    const auto magnitude = std::bit_cast<std::int32_t>(value) & 0x7FFFFFFF;
    bad |= magnitude > 0x7F7FFFFF ? 1 : 0;
  }
  return bad == 0;
}

std::string position_text(const TensorView& tensor, Index flat) {
  std::vector<Index> index(tensor.shape.size());
  Index rest = flat;
  for (std::size_t axis = index.size(); axis-- > 0;) {
    index[axis] = rest % tensor.shape[axis];
    rest /= tensor.shape[axis];
  }
  return " at element " + std::to_string(flat) + ", index " + shape_text(index);
}

[[noreturn]] void refuse_value(const TensorView& tensor, const std::string& value, Index flat) {
  throw BadInputError(fault(tensor.where(), "finite float32 values",
                            value + position_text(tensor, flat),
                            "the file is damaged, or the model that wrote it diverged"));
}

}  // namespace

std::string_view dtype_name(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)].name;
}
int dtype_block(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)].block;
}
int dtype_bits(DType dtype) {
  return kDTypes[static_cast<std::size_t>(dtype)].bits;
}

std::string shape_text(std::span<const Index> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i] < 0 ? "any" : std::to_string(shape[i]);
  }
  return text + "]";
}

Index TensorView::elements() const {
  Index n = 1;
  for (const Index size : shape) n *= size;
  return n;
}

TensorView TensorView::transpose() const {
  TensorView other = *this;
  std::swap(other.shape.at(0), other.shape.at(1));
  other.transposed = !transposed;
  return other;
}

std::string TensorView::where() const {
  return std::string(file) + ": tensor " + in_quotes(name);
}

void TensorView::widen(std::span<float> out, Index first, bool check) const {
  const Index count = std::ssize(out);
  if (first < 0 || first + count > elements()) {
    throw UsageError(fault(where(),
                           "a range within its " + std::to_string(elements()) + " elements",
                           std::to_string(first) + " to " + std::to_string(first + count), ""));
  }
  if (transposed) {
    const Index rows = shape[0], columns = shape[1];
    for (Index i = first; i < first + count; ++i) {
      widen_stored(out.subspan(static_cast<std::size_t>(i - first), 1),
                   i % columns * rows + i / columns);
    }
  } else if (interleaved == 0) {
    widen_stored(out, first);
  } else {
    const Index row = elements() / shape.front(), half = interleaved / 2;
    for (Index done = 0; done < count;) {
      const Index at = first + done, of_group = at / row % interleaved;
      const Index from = at / row - of_group + 2 * (of_group % half) + of_group / half;
      const Index size = std::min(row - at % row, count - done);
      widen_stored(out.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(size)),
                   from * row + at % row);
      done += size;
    }
  }
  if (added != 0) {
    for (float& value : out) value += added;
  }
  if (check) check_finite(out, first);
}

void TensorView::widen_stored(std::span<float> out, Index first) const {
  if (dtype_block(dtype) > 1) return widen_blocks(dtype, bytes, first, out);
  const Index count = std::ssize(out);
  const std::byte* from = bytes.data() + first * dtype_bits(dtype) / 8;
  switch (dtype) {
    case DType::F32:
      if (count > 0) std::memcpy(out.data(), from, out.size_bytes());
      break;
    case DType::F16:
      widen_halves(from, HalfType::f16, out);
      break;
    case DType::BF16:
      widen_halves(from, HalfType::bf16, out);
      break;
    case DType::F64:
      round_doubles(from, out);
      for (Index i = 0; i < count; ++i) {
        double value;
        std::memcpy(&value, from + i * 8, 8);
        if (std::isfinite(value) && !std::isfinite(out[static_cast<std::size_t>(i)])) {
          refuse_value(*this, nlohmann::json(value).dump(), first + i);
        }
      }
      break;
    default:
      throw UnsupportedError(fault(where(), "elements of type F16, BF16, F32 or F64",
                                   std::string(dtype_name(dtype)),
                                   "use a copy of the model that is not quantised"));
  }
}

void TensorView::release() const noexcept {
  release_mapped(bytes);
}

void TensorView::check_finite(std::span<const float> values, Index first) const {
  if (all_finite(values)) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i])) continue;
    refuse_value(*this, name_of_non_finite(values[i]), first + static_cast<Index>(i));
  }
}

Matrix<float> TensorView::matrix() const {
  refuse_if(shape.empty() || shape.size() > 2, where(), "one or two dimensions",
            "shape " + shape_text(shape), "");
  Matrix<float> out(shape.size() == 1 ? 1 : shape[0], shape.back());
  widen({out.data(), static_cast<std::size_t>(out.rows() * out.cols())});
  return out;
}

AlignedVector<float> TensorView::values() const {
  AlignedVector<float> out(static_cast<std::size_t>(elements()));
  widen(out);
  return out;
}

std::span<const float> TensorView::mapped_floats() const {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const bool as_stored = dtype == DType::F32 && interleaved == 0 && added == 0 && !transposed;
  if (!as_stored || address % alignof(float) != 0) return {};
  return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
}

void TensorView::require_shape(std::span<const Index> expected) const {
  const bool same =
      std::equal(shape.begin(), shape.end(), expected.begin(), expected.end(),
                 [](Index found, Index wanted) { return wanted < 0 || found == wanted; });
  if (same) return;
  throw BadInputError(fault(where(), "shape " + shape_text(expected), "shape " + shape_text(shape),
                            "weights and config must come from the same model"));
}

}  // namespace headgauge
