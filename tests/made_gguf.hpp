// GGUF files made byte by byte, without the code that is to read them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge::testing {

class MadeGguf {
 public:
  enum Type : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, list, u64, i64, f64 };

  template <class T>
  static std::string raw(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }
  static std::string string(std::string_view value) {
    return raw<std::uint64_t>(value.size()).append(value);
  }

  MadeGguf& entry(std::string_view key, Type type, const std::string& value) {
    entries_ += string(key) + raw<std::uint32_t>(type) + value;
    ++count_;
    return *this;
  }
  MadeGguf& add(std::string_view key, std::string_view value) {
    return entry(key, text, string(value));
  }
  MadeGguf& add(std::string_view key, const char* value) {
    return add(key, std::string_view(value));
  }
  MadeGguf& add(std::string_view key, std::uint32_t value) { return entry(key, u32, raw(value)); }
  MadeGguf& add(std::string_view key, float value) { return entry(key, f32, raw(value)); }
  MadeGguf& add(std::string_view key, bool value) {
    return entry(key, boolean, raw<std::uint8_t>(value));
  }
  MadeGguf& add(std::string_view key, const std::vector<std::string>& values) {
    std::string all = raw<std::uint32_t>(text) + raw<std::uint64_t>(values.size());
    for (const std::string& value : values) all += string(value);
    return entry(key, list, all);
  }
  MadeGguf& add(std::string_view key, const std::vector<std::int32_t>& values) {
    std::string all = raw<std::uint32_t>(i32) + raw<std::uint64_t>(values.size());
    for (const std::int32_t value : values) all += raw(value);
    return entry(key, list, all);
  }
  MadeGguf& add(std::string_view key, const std::vector<float>& values) {
    std::string all = raw<std::uint32_t>(f32) + raw<std::uint64_t>(values.size());
    for (const float value : values) all += raw(value);
    return entry(key, list, all);
  }

  // `shape` has the slowest dimension first, `type` is ggml's number.
  MadeGguf& tensor(std::string_view name, const std::vector<Index>& shape, std::uint32_t type,
                   std::string_view bytes) {
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    tensors_ += string(name) + raw(static_cast<std::uint32_t>(shape.size()));
    for (auto size = shape.rbegin(); size != shape.rend(); ++size) {
      tensors_ += raw(static_cast<std::uint64_t>(*size));
    }
    tensors_ += raw(type) + raw<std::uint64_t>(data_.size());
    data_ += bytes;
    ++tensor_count_;
    return *this;
  }
  MadeGguf& floats(std::string_view name, const std::vector<Index>& shape,
                   const std::vector<float>& values) {
    return tensor(name, shape, 0,
                  {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }

  std::string bytes() const {
    std::string all =
        "GGUF" + raw(version) + raw(tensor_count_) + raw(count_) + entries_ + tensors_;
    all.resize((all.size() + alignment - 1) / alignment * alignment, '\0');
    return all + data_;
  }

  std::uint32_t version = 3;
  std::size_t alignment = 32;

 private:
  std::string entries_, tensors_, data_;
  std::uint64_t count_ = 0, tensor_count_ = 0;
};

}  // namespace headgauge::testing
