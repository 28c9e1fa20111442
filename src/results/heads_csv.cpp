// heads.csv: the scalar metrics of every head at every length, for a spreadsheet.
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

// The shortest decimal that reads back as the same double; nothing for an undefined value.
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

// A name as a field: as RFC 4180 has it, for names of normalizers hold commas; and, as OWASP has it
// ("CSV Injection"), with an apostrophe before what a spreadsheet would take for a formula and run.
std::string field(const std::string& name) {
  const bool formula = !name.empty() && std::string_view("=+-@\t\r").find(name[0]) != name.npos;
  const std::string safe = formula && !is_number(name) ? "'" + name : name;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string text(1, '"');
  for (const char c : safe) text.append(c == '"' ? 2 : 1, c);
  text += '"';
  return text;
}

// Whether a metric is a column of a table with a row for each cell of `dims`. What a head has once
// is a value of the longest length, and the change between two runs one of the new run: where a
// metric lacks one of the two dims, it stands in the last row along that.
bool is_column(const LabelledArray& metric, const std::vector<Dimension>& dims) {
  std::vector<std::string> own;
  for (const Dimension& dim : dims) {
    const bool optional = dim.name() == "length" || dim.name() == "run";
    if (!optional || metric.has_dim(dim.name())) own.push_back(dim.name());
  }
  return own == metric.dim_names();
}

// The value in the row of a cell along `dims`; undefined where the metric stands in another row.
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
  // What is set side by side, runs, interventions or plans, is a column of its own.
  std::vector<std::string> names{"layer", "head"};
  for (const char* name : {"run", "normalizer", "pattern", "budget"}) {
    if (results.coord(name) != nullptr) names.emplace_back(name);
  }
  names.emplace_back("length");
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
