// The catalogue embedded from catalogue/*.json and its parser; the declarations of options.
#pragma once

#include <string_view>
#include <vector>

#include "headgauge/catalogue.hpp"

namespace headgauge {

struct Catalogue {
  std::vector<MetricGroup> groups;
  std::vector<MetricInfo> metrics;
  std::vector<Experiment> experiments;
  std::vector<FlagInfo> flags;
  std::vector<Column> columns;
};

// Return the embedded files of metrics, and those of options, as a JSON list.
std::string_view catalogue_text();
std::string_view declared_options_text();

// Parses the catalogue. Throws std::logic_error, which names the place, for an unknown or missing
// key, a wrong type, a duplicate name, or a reference to an unknown name.
Catalogue read_catalogue(std::string_view text);

}  // namespace headgauge
