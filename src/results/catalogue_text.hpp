// The catalogue as it stands in catalogue/*.json, and how it is read.
#pragma once

#include <string_view>
#include <vector>

#include "headgauge/catalogue.hpp"

namespace headgauge {

struct Catalogue {
  std::vector<MetricGroup> groups;
  std::vector<MetricInfo> metrics;
  std::vector<Experiment> experiments;
};

// The files as a JSON list, as they are embedded in the library.
std::string_view catalogue_text();

// Throws std::logic_error, which says where, for anything but complete declarations: an unknown or
// a missing key, a wrong type, a name that stands twice or that refers to nothing.
Catalogue read_catalogue(std::string_view text);

}  // namespace headgauge
