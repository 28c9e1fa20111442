#include "headgauge/results.hpp"

#include <algorithm>

namespace headgauge {
namespace {

std::size_t size_of(const Coordinate& values) {
  return std::visit([](const auto& list) { return list.size(); }, values);
}

template <class Entries>
auto* find_entry(Entries& entries, std::string_view name) {
  const auto it =
      std::find_if(entries.begin(), entries.end(), [&](auto& e) { return e.first == name; });
  return it == entries.end() ? nullptr : &it->second;
}

template <class Entries>
std::string names_of(const Entries& entries) {
  std::string list;
  for (const auto& entry : entries) {
    if (!list.empty()) list += ", ";
    list += entry.first;
  }
  return list.empty() ? "none" : list;
}

}  // namespace

std::string_view verdict_text(Verdict verdict) {
  if (verdict == Verdict::holds) return "holds";
  return verdict == Verdict::does_not_hold ? "does not hold" : "cannot tell";
}

void Results::set_coord(const std::string& name, Coordinate values) {
  if (auto* old = find_entry(coords, name)) {
    *old = std::move(values);
    return;
  }
  coords.emplace_back(name, std::move(values));
}

const Coordinate* Results::coord(std::string_view name) const {
  return find_entry(coords, name);
}

Index Results::coord_size(std::string_view name) const {
  const Coordinate* values = coord(name);
  if (values == nullptr) {
    throw UsageError(fault("results", "a coordinate \"" + std::string(name) + "\"", "none",
                           "the coordinates are " + names_of(coords)));
  }
  return static_cast<Index>(size_of(*values));
}

std::span<const double> Results::coord_numbers(std::string_view name) const {
  coord_size(name);  // throws if there is none
  const auto* numbers = std::get_if<std::vector<double>>(coord(name));
  if (numbers == nullptr) {
    throw UsageError(
        fault("results", "numbers in the coordinate \"" + std::string(name) + "\"", "names", ""));
  }
  return *numbers;
}

MetricArray& Results::add_metric(const std::string& name, std::vector<std::string> dims,
                                 std::string unit) {
  if (metric(name) != nullptr) {
    throw UsageError(fault("results", "a metric not yet there", "\"" + name + "\" twice", ""));
  }
  std::size_t cells = 1;
  for (const std::string& dim : dims) cells *= static_cast<std::size_t>(coord_size(dim));
  MetricArray array;
  array.dims = std::move(dims);
  array.unit = std::move(unit);
  array.values.assign(cells, kUndefined);
  return metrics.emplace_back(name, std::move(array)).second;
}

const MetricArray* Results::metric(std::string_view name) const {
  return find_entry(metrics, name);
}

MetricArray* Results::metric(std::string_view name) {
  return find_entry(metrics, name);
}

double Results::at(std::string_view name, std::initializer_list<Index> cell) const {
  const MetricArray* array = metric(name);
  if (array == nullptr) {
    throw UsageError(fault("results", "a metric \"" + std::string(name) + "\"", "none",
                           "the metrics are " + names_of(metrics)));
  }
  return array->values[static_cast<std::size_t>(flat_index(*array, {cell.begin(), cell.end()}))];
}

Index Results::flat_index(const MetricArray& metric, std::span<const Index> cell) const {
  if (cell.size() != metric.dims.size()) {
    throw UsageError(fault("results", std::to_string(metric.dims.size()) + " indices",
                           std::to_string(cell.size()), ""));
  }
  Index flat = 0;
  for (std::size_t k = 0; k < cell.size(); ++k) {
    const Index size = coord_size(metric.dims[k]);
    if (cell[k] < 0 || cell[k] >= size) {
      throw UsageError(fault(
          "results", "an index below " + std::to_string(size) + " along \"" + metric.dims[k] + "\"",
          std::to_string(cell[k]), ""));
    }
    flat = flat * size + cell[k];
  }
  return flat;
}

}  // namespace headgauge
