// Labelled arrays: what every analysis returns and every file holds. In the manner of xarray:
// named coordinates, and metrics whose dimensions are names of coordinates.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// The values along one dimension: numbers, or names.
using Coordinate = std::variant<std::vector<double>, std::vector<std::string>>;

// One metric over the product of its dimensions, row-major in the order of `dims`. An undefined
// cell is NaN in memory and null in JSON. `stderr_` and `rows` are empty where a metric has none.
struct MetricArray {
  std::vector<std::string> dims;
  std::string unit;
  std::vector<double> values;
  std::vector<double> stderr_;
  std::vector<std::int64_t> rows;
};

// Something about one head worth a user's attention, at the longest length.
struct Flag {
  std::string name;
  int layer = 0;
  int head = 0;
  int length = 0;
  double value = 0;
  double threshold = 0;
  std::string source;
  std::string advice;
  std::optional<int> partner;  // the other head of a redundant pair
};

struct Results {
  nlohmann::ordered_json tool = nlohmann::ordered_json::object();
  nlohmann::ordered_json model = nlohmann::ordered_json::object();
  nlohmann::ordered_json text = nlohmann::ordered_json::object();
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  std::vector<std::pair<std::string, Coordinate>> coords;       // in order of insertion
  std::vector<std::pair<std::string, MetricArray>> metrics;     // in order of insertion
  std::vector<Flag> flags;
  std::vector<std::string> notices;  // what a reader must know to read the numbers
  nlohmann::ordered_json timings = nlohmann::ordered_json::object();
  bool partial = false;         // interrupted: only `layers_done` layers are in
  int layers_done = 0;

  void set_coord(const std::string& name, Coordinate values);
  const Coordinate* coord(const std::string& name) const;
  // The number of values along a coordinate; throws if there is none of that name.
  Index coord_size(const std::string& name) const;

  // Adds a metric of the given dims, all cells undefined. Throws if a dim has no coordinate.
  MetricArray& add_metric(const std::string& name, std::vector<std::string> dims,
                          std::string unit);
  const MetricArray* metric(const std::string& name) const;
  // One cell, by indices along dims (not by labels).
  double at(const std::string& name, std::initializer_list<Index> cell) const;
  Index flat_index(const MetricArray& metric, std::span<const Index> cell) const;
};

// results.json, schema "headgauge.results/1" (docs/formats.md).
nlohmann::ordered_json to_json(const Results& results);
Results results_from_json(const nlohmann::ordered_json& json, const std::string& where);

// Reads and writes results.json. Writing goes to a temporary file that is renamed; on failure
// nothing is left behind and ResourceError is thrown.
void write_results(const Results& results, const std::string& path);
Results read_results(const std::string& path);

// heads.csv: one row per head and length, one column per scalar metric.
void write_heads_csv(const Results& results, const std::string& path);

}  // namespace headgauge
