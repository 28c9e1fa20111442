// heads.csv: the scalar metrics of every head at every length or step, for a spreadsheet.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "headgauge/results.hpp"

namespace headgauge {
namespace {

// Appends the shortest decimal that reads back as the same double; nothing for an undefined value.
void append_number(std::string& text, double value) {
  if (!std::isfinite(value)) return;
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
  text.append(digits, end);
}

bool is_number(std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

// Formats a name as a CSV field. Quotes it as in RFC 4180, because names of normalizers contain
// commas. Puts an apostrophe before text that a spreadsheet would run as a formula (OWASP, "CSV
// Injection").
std::string field(const std::string& name) {
  const bool formula = !name.empty() && std::string_view("=+-@\t\r").find(name[0]) != name.npos;
  const std::string safe = formula && !is_number(name) ? "'" + name : name;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string text(1, '"');
  for (const char c : safe) text.append(c == '"' ? 2 : 1, c);
  text += '"';
  return text;
}

// Returns whether a metric is a column of a table with a row for each cell of `dims`. A metric
// without "length" belongs to the longest length, and a change without "run" to the new run: if a
// metric lacks one of these dims, its value is in the last row along it.
bool is_column(const LabelledArray& metric, const std::vector<Dimension>& dims) {
  std::vector<std::string> own;
  for (const Dimension& dim : dims) {
    const bool optional = dim.name() == "length" || dim.name() == "run";
    if (!optional || metric.has_dim(dim.name())) own.push_back(dim.name());
  }
  return own == metric.dim_names();
}

// Returns the value in the row of a cell along `dims`; undefined if the metric's value is in
// another row.
double value_in_row(const LabelledArray& metric, const std::vector<Dimension>& dims,
                    std::span<const Index> cell) {
  std::vector<Index> own;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (metric.has_dim(dims[k].name())) {
      own.push_back(cell[k]);
    } else if (cell[k] + 1 < dims[k].size()) {
      return kUndefined;
    }
  }
  return metric.at(own).value;
}

}  // namespace

std::string heads_csv_text(const Results& results) {
  // Runs, interventions and plans that are compared have a column of their own.
  std::vector<std::string> names{"layer", "head"};
  for (const char* name : {"run", "normalizer", "pattern", "budget"}) {
    if (results.coord(name) != nullptr) names.emplace_back(name);
  }
  // Checkpoints that are joined have steps in place of lengths.
  const bool steps = results.coord("step") != nullptr && results.coord("length") == nullptr;
  names.emplace_back(steps ? "step" : "length");
  std::string text = fmt::format("{}", fmt::join(names, ","));
  std::vector<Dimension> dims;
  for (const std::string& name : names) {
    if (const Dimension* dim = results.coord(name)) dims.push_back(*dim);
  }
  std::vector<const LabelledArray*> columns;
  for (const auto& [name, metric] : results.metrics) {
    if (dims.size() < names.size() || !is_column(metric, dims)) continue;
    columns.push_back(&metric);
    text += "," + field(name);
  }
  text += "\n";
  if (columns.empty()) return text;

  LabelledArray(dims).each([&](std::span<const Index> cell, std::size_t) {
    for (std::size_t k = 0; k < dims.size(); ++k) {
      if (k > 0) text += ",";
      const Coordinate& labels = dims[k].labels();
      if (const auto* numbers = std::get_if<std::vector<double>>(&labels)) {
        append_number(text, (*numbers)[cell[k]]);
      } else {
        text += field(dims[k].label(cell[k]));
      }
    }
    for (const LabelledArray* column : columns) {
      text += ",";
      append_number(text, value_in_row(*column, dims, cell));
    }
    text += "\n";
  });
  return text;
}

void write_heads_csv(const Results& results, const std::string& path) {
  write_atomically(path, heads_csv_text(results));
}

}  // namespace headgauge
