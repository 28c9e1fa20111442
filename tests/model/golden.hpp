// The golden files, and what every forward pass must have in common with them
// (tests/golden/README.md).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "headgauge/headgauge.hpp"
#include "test_data.hpp"

namespace headgauge {

// A case of tests/golden/FAMILY.safetensors.
class Golden {
 public:
  static Safetensors open(const std::string& family) {
    return Safetensors::open(testing::source_path("tests/golden/" + family + ".safetensors"));
  }
  // `name`: FAMILY/CASE
  explicit Golden(const std::string& name)
      : file_(open(name.substr(0, name.find('/')))),
        case_(name.substr(name.find('/') + 1)),
        rest_(nlohmann::json::parse(file_.metadata().at(case_))) {}

  // What is not a list of numbers.
  const nlohmann::json& operator[](const char* key) const { return rest_.at(key); }
  // A list of numbers; T: double, or int for whole ones.
  template <class T>
  std::vector<T> get(const std::string& key) const {
    const auto bytes = file_.require(case_ + "/" + key).bytes;
    std::vector<T> values(bytes.size() / sizeof(T));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(values)).begin());
    return values;
  }

 private:
  Safetensors file_;
  std::string case_;
  nlohmann::json rest_;
};

// FAMILY/CASE of every case whose checkpoint is committed.
inline std::vector<std::string> golden_cases(const std::string& family) {
  std::vector<std::string> names;
  const Safetensors file = Golden::open(family);
  for (const auto& [name, rest] : file.metadata()) {
    names.push_back(family + "/" + name);
    if (!testing::exists(testing::source_path("tests/golden/" + names.back()))) names.pop_back();
  }
  return names;
}

inline std::string golden_test_name(const ::testing::TestParamInfo<std::string>& tested) {
  std::string name = tested.param;
  for (char& c : name) c = c == '-' || c == '/' ? '_' : c;
  return name;
}

// The residual stream that enters each layer, as x = hidden gives it.
inline void compare_hidden(const Golden& golden, HeadSource& source) {
  const auto rows = golden.get<int>("hidden/rows");
  const auto norms = golden.get<double>("hidden/norms");
  const auto values = golden.get<double>("hidden/values");
  const std::size_t columns = values.size() / norms.size();
  std::size_t place = 0;
  for (int layer = 0; layer < source.info().layers; ++layer) {
    const auto heads = source.layer(layer, 0);
    for (const int row : rows) {
      const auto x = heads.front().x[row];
      double square = 0;
      for (const float v : x) square += static_cast<double>(v) * v;
      const double norm = norms[place];
      EXPECT_NEAR(std::sqrt(square), norm, 1e-5 * norm) << "layer " << layer << " row " << row;
      for (std::size_t c = 0; c < columns; ++c) {
        EXPECT_NEAR(x[c], values[place * columns + c], 1e-5 * std::max(1.0, norm))
            << "layer " << layer << " row " << row << " column " << c;
      }
      ++place;
    }
  }
}

inline void compare_statistics(const Golden& golden, const Results& results) {
  for (const auto& [metric, deviation] : golden["float32_deviation"]["statistics"].items()) {
    const auto expected = golden.get<double>("statistics/" + metric);
    const std::string of_all = metric + "_with_sinks";  // golden statistics count every key
    const std::vector<double>& found =
        results.require_metric(find_metric_info(of_all) == nullptr ? metric : of_all).values;
    ASSERT_EQ(found.size(), expected.size()) << metric;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 2e-5 * std::max(std::abs(expected[i]), 1e-6))
          << metric << " at " << i;
    }
  }
}

}  // namespace headgauge
