#include "session/finish.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "scan/resolved_scan.hpp"

namespace headgauge {
namespace {

nlohmann::ordered_json names_of_kind(const Texts& texts, bool are_ids) {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const Text& text : texts) {
    if (text.is_ids == are_ids) names.push_back(text.name);
  }
  return names;
}

}  // namespace

Results described(const HeadSource& source) {
  Results results;
  source.describe(results);
  return results;
}

ScanOptions resolved(const ScanOptions& options, const SourceInfo& source) {
  const ScanOptions filled = resolve_scan(options, source).options;
  ScanOptions resolved = options;
  resolved.lengths = filled.lengths;
  resolved.queries = filled.queries;
  resolved.examples = filled.examples;
  resolved.measure.temperatures = filled.measure.temperatures;
  resolved.measure.top_n = filled.measure.top_n;
  return resolved;
}

void write_own_settings(const std::vector<Option>& options, std::string_view owner,
                        nlohmann::ordered_json& settings) {
  for (const Option& option : options) {
    if (option.member.starts_with(owner)) write_settings({option}, settings);
  }
}

void complete(Results& results, const Ending& ending) {
  const Input& input = ending.input;
  if (!input.model.empty()) {
    results.settings["text"] = names_of_kind(input.texts, false);
    results.settings["tokens"] = names_of_kind(input.texts, true);
  }
  write_own_settings(ending.options, ending.owner, results.settings);
  std::ranges::copy(input.cases.notices, std::back_inserter(results.notices));
  results.summary = ending.summarize(results);
  if (input.model.has_own_queries() && !input.texts.empty()) {
    results.notices.push_back("the texts were not read, because a dump has its own queries");
  }
  use_option_names(results);
}

}  // namespace headgauge
