// Results as the page and the figures take them in: one JSON text that says what there is, one for
// the numbers of each metric and one for the examples, so that only what is looked at is ever
// unpacked. The TypeScript side is web/src/data/embedded.ts.
#pragma once

#include <string>

#include "headgauge/results.hpp"

namespace headgauge::report {

// {"header": all of results.json but metrics, examples and passages, "metrics": [{name, dims, unit,
// element}]}. The header of a diff or a comparison has the list of changes, computed where the
// results lack it.
std::string overview_text(const Results& results);

// The name by which the overview calls the numbers of the k-th metric.
std::string element_name(std::size_t k);

// {"values": [...], "stderr": [...], "rows": [...]}: flat, row-major, null where undefined.
std::string numbers_text(const LabelledArray& metric);

// The same for large metrics: the float64 of each part one after the other, NaN where undefined,
// and the names of the parts: "values stderr rows".
struct PackedNumbers {
  std::string parts;
  std::string bytes;
};
PackedNumbers packed_numbers(const LabelledArray& metric);

// {"examples": [...], "passages": [...]}, as in results.json.
std::string examples_text(const Results& results);

}  // namespace headgauge::report
