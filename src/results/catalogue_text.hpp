// The catalogue embedded from catalogue/*.json, and its parser.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/catalogue.hpp"
#include "results/sentences.hpp"

namespace headgauge {

struct Catalogue {
  std::vector<MetricGroup> groups;
  std::vector<MetricInfo> metrics;
  std::vector<Experiment> experiments;
  std::vector<FlagInfo> flags;
  std::vector<Column> columns;
  std::map<std::string, std::string> commands;  // to run next, by their names
  std::vector<Sentence> sentences;
};

// Returns the embedded files as a JSON list.
std::string_view catalogue_text();

// Parses the catalogue. Throws std::logic_error, which names the place, for an unknown or missing
// key, a wrong type, a duplicate name, or a reference to an unknown name.
Catalogue read_catalogue(std::string_view text);

// Parses the sentences of all files; the metrics and flags that they name are read before.
void read_sentences(const nlohmann::json& files, Catalogue& catalogue);

// Returns the sentences of the catalogue in order.
const std::vector<Sentence>& sentences();

}  // namespace headgauge
