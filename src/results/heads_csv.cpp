// heads.csv: the scalar metrics of every head at every length, for a spreadsheet.
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

}  // namespace

std::string heads_csv_text(const Results& results) {
  const std::vector<std::string> dims{"layer", "head", "length"};
  std::vector<const MetricArray*> columns;
  std::string text = "layer,head,length";
  for (const auto& [name, metric] : results.metrics) {
    if (metric.dims != dims) continue;
    columns.push_back(&metric);
    text += "," + name;
  }
  text += "\n";
  if (columns.empty()) return text;

  std::size_t row = 0;
  for (const double layer : results.coord_numbers("layer")) {
    for (const double head : results.coord_numbers("head")) {
      for (const double length : results.coord_numbers("length")) {
        append_number(text, layer);
        text += ",";
        append_number(text, head);
        text += ",";
        append_number(text, length);
        for (const MetricArray* column : columns) {
          text += ",";
          append_number(text, column->values[row]);
        }
        text += "\n";
        ++row;
      }
    }
  }
  return text;
}

void write_heads_csv(const Results& results, const std::string& path) {
  write_atomically(path, heads_csv_text(results));
}

}  // namespace headgauge
