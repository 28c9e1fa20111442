// heads.csv: the scalar metrics of every head at every length, for a spreadsheet.
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "headgauge/results.hpp"
#include "results/longest.hpp"
#include "results/overlap.hpp"

namespace headgauge {
namespace {

// The shortest decimal that reads back as the same double; nothing for an undefined value.
void append_number(std::string& text, double value) {
  if (!std::isfinite(value)) return;
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  text.append(digits, end);
}

// As RFC 4180 has it: names of rules hold commas.
std::string quoted(const std::string& name) {
  if (name.find_first_of(",\"\n") == std::string::npos) return name;
  std::string text(1, '"');
  for (const char c : name) text.append(c == '"' ? 2 : 1, c);
  text += '"';
  return text;
}

// A metric, and which of the table's dims it has. What a head has once is a value of the longest
// length, and the change between two runs one of the new run: where it lacks a dim, it stands in
// the last row along that.
struct Column {
  const MetricArray* metric;
  std::vector<bool> has;
};

std::optional<Column> column_of(const MetricArray& metric, const std::vector<std::string>& dims) {
  Column column{&metric, {}};
  std::vector<std::string> own;
  for (const std::string& dim : dims) {
    const bool optional = dim == "length" || dim == "run";
    column.has.push_back(!optional || has_dim(metric, dim));
    if (column.has.back()) own.push_back(dim);
  }
  if (own != metric.dims) return std::nullopt;
  return column;
}

}  // namespace

std::string heads_csv_text(const Results& results) {
  // What is set side by side, runs or interventions, is a column of its own.
  std::vector<std::string> dims{"layer", "head"};
  for (const char* dim : {"run", "normalizer", "pattern"}) {
    if (results.coord(dim) != nullptr) dims.emplace_back(dim);
  }
  dims.emplace_back("length");
  std::vector<Column> columns;
  std::string text;
  for (const std::string& dim : dims) text.append(text.empty() ? "" : ",").append(dim);
  for (const auto& [name, metric] : results.metrics) {
    const auto column = column_of(metric, dims);
    if (!column) continue;
    columns.push_back(*column);
    text += "," + name;
  }
  text += "\n";
  if (columns.empty()) return text;

  std::vector<Index> sizes;
  for (const std::string& dim : dims) sizes.push_back(results.coord_size(dim));
  each_cell(sizes, [&](const std::vector<Index>& cell) {
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (k > 0) text += ",";
      const Coordinate& labels = *results.coord(dims[k]);
      const auto place = static_cast<std::size_t>(cell[k]);
      if (const auto* numbers = std::get_if<std::vector<double>>(&labels)) {
        append_number(text, (*numbers)[place]);
      } else {
        text += quoted(std::get<std::vector<std::string>>(labels)[place]);
      }
    }
    for (const Column& column : columns) {
      text += ",";
      std::size_t at = 0;
      bool here = true;
      for (std::size_t k = 0; k < dims.size(); ++k) {
        if (column.has[k]) {
          at = at * static_cast<std::size_t>(sizes[k]) + static_cast<std::size_t>(cell[k]);
        } else if (cell[k] + 1 < sizes[k]) {
          here = false;
        }
      }
      if (here) append_number(text, column.metric->values[at]);
    }
    text += "\n";
  });
  return text;
}

void write_heads_csv(const Results& results, const std::string& path) {
  write_atomically(path, heads_csv_text(results));
}

}  // namespace headgauge
