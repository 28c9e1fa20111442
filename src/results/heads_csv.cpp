// heads.csv: the scalar metrics of every head at every length, for a spreadsheet.
#include <charconv>
#include <cmath>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "headgauge/results.hpp"
#include "results/longest.hpp"

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

}  // namespace

std::string heads_csv_text(const Results& results) {
  // What compare sets side by side is a column of its own.
  const std::string rivals = rival_dimension(results);
  std::vector<std::string> dims{"layer", "head", "length"};
  if (!rivals.empty()) dims.insert(dims.begin() + 2, rivals);
  // What a head has once is a value of the longest length.
  const std::vector<std::string> once(dims.begin(), dims.end() - 1);
  std::vector<const MetricArray*> columns;
  std::string text;
  for (const std::string& dim : dims) text.append(text.empty() ? "" : ",").append(dim);
  for (const auto& [name, metric] : results.metrics) {
    if (metric.dims != dims && metric.dims != once) continue;
    columns.push_back(&metric);
    text += "," + name;
  }
  text += "\n";
  if (columns.empty()) return text;

  const std::vector<std::string> none{""};
  const auto& names =
      rivals.empty() ? none : std::get<std::vector<std::string>>(*results.coord(rivals));
  std::size_t row = 0;
  const auto lengths = static_cast<std::size_t>(results.coord_size("length"));
  for (const double layer : results.coord_numbers("layer")) {
    for (const double head : results.coord_numbers("head")) {
      for (const std::string& name : names) {
        for (const double length : results.coord_numbers("length")) {
          append_number(text, layer);
          text += ",";
          append_number(text, head);
          if (!rivals.empty()) text.append(1, ',').append(quoted(name));
          text += ",";
          append_number(text, length);
          for (const MetricArray* column : columns) {
            text += ",";
            if (column->dims == dims) {
              append_number(text, column->values[row]);
            } else if ((row + 1) % lengths == 0) {
              append_number(text, column->values[row / lengths]);
            }
          }
          text += "\n";
          ++row;
        }
      }
    }
  }
  return text;
}

void write_heads_csv(const Results& results, const std::string& path) {
  write_atomically(path, heads_csv_text(results));
}

}  // namespace headgauge
