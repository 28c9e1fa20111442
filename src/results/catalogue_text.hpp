// The catalogue embedded from catalogue/*.json and its parser; the declarations of options.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "headgauge/catalogue.hpp"

namespace headgauge {

// A sentence; its texts are templates (CONTRIBUTING.md, "Add a sentence").
struct Sentence {
  std::string name;
  std::string about;         // the subject whose sentences are made together
  int place = 0;             // in their order
  std::string text;          // begins with the conditions
  std::string means;         // what it means for the reader
  std::string next;          // the name of the command to run next
  bool lead = false;         // part of the answer of a command
  std::string verdict;       // "good", "bad" or "unsure"
  bool aside = false;        // about critical N or a null
  bool spare = false;        // only if the results support few others
  bool states_facts = true;  // false: its numbers are not recorded
};

struct Catalogue {
  std::vector<MetricGroup> groups;
  std::vector<MetricInfo> metrics;
  std::vector<Experiment> experiments;
  std::vector<FlagInfo> flags;
  std::vector<Column> columns;
  using Words = std::map<std::string, std::string>;
  Words commands;  // to run next, by their names
  Words phrases;   // texts that sentences share, for {NAME $}, with $ for what follows
  Words terms;     // what words of the terminal mean
  std::vector<Sentence> sentences;
};

// Return the embedded files of metrics, and those of options, as a JSON list.
std::string_view catalogue_text();
std::string_view declared_options_text();

// Parses the catalogue. Throws std::logic_error, which names the place, for an unknown or missing
// key, a wrong type, a duplicate name, or a reference to an unknown name.
Catalogue read_catalogue(std::string_view text);

// Reads a sentence that a group declares.
Sentence read_sentence(nlohmann::json object, const std::string& group);

// Returns the catalogue of the embedded files.
const Catalogue& catalogue();

}  // namespace headgauge
