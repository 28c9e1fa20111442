// Files made byte by byte, without the code that is to read them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "faults.hpp"
#include "headgauge/base.hpp"
#include "test_data.hpp"

namespace headgauge::testing {

// Length field, header, data: a safetensors file, or something like one.
inline std::string made_safetensors(std::string_view header, std::string_view data) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes.append(header).append(data);
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), std::data(values), bytes.size());
  return bytes;
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Expects that `body` throws an Error of this kind whose one line holds every one of `parts`.
template <class Body>
void expect_error(ErrorKind kind, const std::vector<std::string>& parts, const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    expect_no_part(error.what(), "\n");
    for (const std::string& part : parts) expect_part(error.what(), part);
    return;
  }
  ADD_FAILURE() << "no error, where one naming " << (parts.empty() ? "" : parts.front())
                << " was due";
}

// The same of bad input.
template <class Body>
void expect_error(const std::vector<std::string>& parts, const Body& body) {
  expect_error(ErrorKind::bad_input, parts, body);
}

}  // namespace headgauge::testing
