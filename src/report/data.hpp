// Results as the page and the figures read them: one JSON text with an overview, one for the
// numbers of each metric, and one for the examples, so that only what is viewed is unpacked. The
// TypeScript side is web/src/data/embedded.ts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge::report {

// A metric of the page, and the page's name for its numbers.
struct PageMetric {
  std::string name;
  std::string element;
  const LabelledArray& array;
  // True for a metric of a comparison that is nothing but the differences to the original's values,
  // which the page computes.
  bool difference = false;
};

// Lists the metrics that the page has: all but those by position that no figure draws.
std::vector<PageMetric> page_metrics(const Results& results);

// Returns {"header": all of results.json except metrics and what examples_text() returns,
// "metrics": [{name, dims, unit, element}]}. The header of a diff or a comparison includes the list
// of changes, computed if the results lack it.
std::string overview_text(const Results& results, const std::vector<PageMetric>& metrics);

// Returns {"values": [...], "stderr": [...], "rows": [...]}: flat, row-major, null for undefined.
std::string numbers_text(const LabelledArray& metric);

// Returns the same for large metrics: the float32 values of the parts one after the other, NaN for
// undefined, in four planes of bytes for each part, and the names of the parts: "values stderr".
struct PackedNumbers {
  std::string parts;
  std::string bytes;
};
PackedNumbers packed_numbers(const LabelledArray& metric);

// Returns {"examples": [...], "token_losses": [...], "passages": [...]}, as in results.json.
std::string examples_text(const Results& results);

}  // namespace headgauge::report
