// Converts numbers to bytes and back, in this machine's representation. A journal's parts consist
// of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

using Bytes = std::vector<std::byte>;

// Thrown when finished work that a run finds differs from what was written: the user can delete it
// and go on, so the journal is not deleted.
struct DamagedPartError : BadInputError {
  using BadInputError::BadInputError;
  // A part of the journal.
  DamagedPartError(const std::string& expected, const std::string& found)
      : BadInputError(fault("journal", expected, found, "delete the journal to start again")) {}
};

class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    put_all(std::span<const T>(&value, 1));
  }
  template <class T>
  void put_all(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    const auto bytes = std::as_bytes(values);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  // Writes the number of values, then the values.
  template <class T>
  void put_list(const std::vector<T>& values) {
    put(static_cast<std::uint64_t>(values.size()));
    put_all(std::span<const T>(values));
  }
  void put_text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    put_all(std::span<const char>(text));
  }
  Bytes take() { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

// Throws DamagedPartError if fewer bytes are left than are asked for.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  T take() {
    if constexpr (std::is_same_v<T, bool>) return take_truth();
    T value;
    take_all(std::span<T>(&value, 1));
    return value;
  }
  template <class T>
  void take_all(std::span<T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    require(values.size_bytes());
    // The destination may be null if there are no values, which memcpy does not allow.
    if (!values.empty()) std::memcpy(values.data(), bytes_.data(), values.size_bytes());
    bytes_ = bytes_.subspan(values.size_bytes());
  }
  template <class T>
  std::vector<T> take_some(std::size_t count) {
    if (count > bytes_.size() / sizeof(T)) require(bytes_.size() + 1);
    std::vector<T> values(count);
    take_all(std::span<T>(values));
    return values;
  }
  template <class T>
  std::vector<T> take_list() {
    return take_some<T>(take<std::uint64_t>());
  }
  std::string take_text() {
    const std::vector<char> letters = take_list<char>();
    return {letters.begin(), letters.end()};
  }
  bool at_end() const { return bytes_.empty(); }
  void require_end() const {
    if (!at_end()) throw DamagedPartError("an undamaged part", "a part that is too long");
  }
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  bool take_truth() {
    const auto byte = take<std::uint8_t>();
    if (byte > 1) {
      throw DamagedPartError("an undamaged part", "a changed part");
    }
    return byte == 1;
  }
  void require(std::size_t bytes) const {
    if (bytes > bytes_.size()) {
      throw DamagedPartError("an undamaged part", "a part that is too short");
    }
  }

  std::span<const std::byte> bytes_;
};

}  // namespace headgauge
