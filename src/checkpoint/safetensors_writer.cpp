#include "checkpoint/safetensors_writer.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/strict_json.hpp"

namespace headgauge {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require_size(const std::string& path, const TensorData& tensor) {
  Index bits = dtype_bits(tensor.dtype);
  for (const Index size : tensor.shape) bits *= size;
  refuse_if<UsageError>(bits < 0 || static_cast<std::size_t>(bits) != tensor.bytes.size() * 8,
                        path + ": tensor " + in_quotes(tensor.name),
                        "the bytes of " + std::string(dtype_name(tensor.dtype)) + " of shape " +
                            shape_text(tensor.shape),
                        std::to_string(tensor.bytes.size()) + " bytes", "");
}

}  // namespace

void put_safetensors(AtomicFile& file, std::span<const TensorData> tensors,
                     const std::map<std::string, std::string>& metadata) {
  const std::string& path = file.path();
  std::vector<const TensorData*> order;
  for (const TensorData& tensor : tensors) {
    require_size(path, tensor);
    order.push_back(&tensor);
  }
  // Because the header is a multiple of 8 bytes and larger elements come first, each tensor is
  // aligned.
  std::stable_sort(order.begin(), order.end(), [](const TensorData* a, const TensorData* b) {
    return dtype_bits(a->dtype) > dtype_bits(b->dtype);
  });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const TensorData* tensor : order) {
    refuse_if<UsageError>(tensor->name == "__metadata__" || header.contains(tensor->name), path,
                          "tensor names that differ", in_quotes(tensor->name) + " twice", "");
    header[tensor->name] = {{"dtype", dtype_name(tensor->dtype)},
                            {"shape", tensor->shape},
                            {"data_offsets", {offset, offset + tensor->bytes.size()}}};
    offset += tensor->bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');

  const std::uint64_t length = text.size();
  char length_bytes[8];
  std::memcpy(length_bytes, &length, 8);
  file.write({length_bytes, 8});
  file.write(text);
  for (const TensorData* tensor : order) file.write(as_text(tensor->bytes));
}

void write_safetensors(const std::string& path, std::span<const TensorData> tensors,
                       const std::map<std::string, std::string>& metadata) {
  write_atomically(path, [&](AtomicFile& file) { put_safetensors(file, tensors, metadata); });
}

TensorData float_tensor(std::string name, std::vector<Index> shape, std::span<const float> values) {
  return {std::move(name), DType::F32, std::move(shape), std::as_bytes(values)};
}

}  // namespace headgauge
