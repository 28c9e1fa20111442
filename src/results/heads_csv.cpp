// heads.csv: the scalar metrics of every head at every length or step, for a spreadsheet.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "headgauge/cells.hpp"
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

// Returns the estimate in the row of a cell along `dims`; undefined if it is in another row.
Estimate in_row(const LabelledArray& metric, const std::vector<Dimension>& dims,
                std::span<const Index> cell) {
  std::vector<Index> own;
  for (std::size_t k = 0; k < dims.size(); ++k) {
    if (metric.has_dim(dims[k].name())) {
      own.push_back(cell[k]);
    } else if (cell[k] + 1 < dims[k].size()) {
      return {};
    }
  }
  return metric.at(own);
}

}  // namespace

HeadsTable heads_table(const Results& results) {
  // Runs, interventions and plans that are compared have a column of their own.
  HeadsTable table{{"layer", "head"}};
  for (const char* name : {"run", "normalizer", "pattern", "budget"}) {
    if (results.coord(name) != nullptr) table.row_names.emplace_back(name);
  }
  // Checkpoints that are joined have steps in place of lengths.
  const bool steps = results.coord("step") != nullptr && results.coord("length") == nullptr;
  table.row_names.emplace_back(steps ? "step" : "length");
  for (const std::string& name : table.row_names) {
    if (const Dimension* dim = results.coord(name)) table.rows.push_back(*dim);
  }
  const LabelledArray rows(table.rows);
  for (const auto& [name, metric] : results.metrics) {
    const bool judged = metric.has_dim(kOutcome) && metric.dim(kOutcome).find(kText).has_value();
    const LabelledArray of_text = judged ? metric.sel(kOutcome, kText) : LabelledArray();
    const LabelledArray& column = judged ? of_text : metric;
    if (table.rows.size() < table.row_names.size() || !is_column(column, table.rows)) {
      table.left_out.push_back(name);
      continue;
    }
    const auto add = [&](const std::string& title, double Estimate::*number) {
      std::vector<double>& numbers = table.columns.emplace_back(title, 0).second;
      rows.each([&](std::span<const Index> cell, std::size_t) {
        numbers.push_back(in_row(column, table.rows, cell).*number);
      });
    };
    add(name, &Estimate::value);
    for (const auto& [part, numbers, number] : kEstimateParts) {
      const bool shown = number != &Estimate::degrees_of_freedom && !(column.*numbers).empty();
      if (shown) add(fmt::format("{}_{}", name, part), number);
    }
  }
  return table;
}

std::string heads_csv_text(const Results& results) {
  const HeadsTable table = heads_table(results);
  std::string text = fmt::format("{}", fmt::join(table.row_names, ","));
  for (const auto& [title, numbers] : table.columns) text += "," + field(title);
  text += "\n";
  if (table.columns.empty()) return text;
  LabelledArray(table.rows).each([&](std::span<const Index> cell, std::size_t row) {
    for (std::size_t k = 0; k < table.rows.size(); ++k) {
      if (k > 0) text += ",";
      const Coordinate& labels = table.rows[k].labels();
      if (const auto* numbers = std::get_if<std::vector<double>>(&labels)) {
        append_number(text, (*numbers)[cell[k]]);
      } else {
        text += field(table.rows[k].label(cell[k]));
      }
    }
    for (const auto& [title, numbers] : table.columns) {
      text += ",";
      append_number(text, numbers[row]);
    }
    text += "\n";
  });
  return text;
}

}  // namespace headgauge
