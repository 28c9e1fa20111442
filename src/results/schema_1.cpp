#include "results/schema_1.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "results/declared.hpp"

namespace headgauge {
namespace {

using Kind = FactSource::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 5> kPrefixes = {
    {{"stderr.", Kind::standard_error},
     {"coords.", Kind::coordinate},
     {"settings.", Kind::setting},
     {"flags.", Kind::flags},
     {"heads.", Kind::heads_with}}};

constexpr std::array<std::pair<std::string_view, Kind>, 5> kWords = {
    {{"heads", Kind::heads},
     {"rule", Kind::constant},
     {"derived", Kind::derived},
     {"searched", Kind::critical_range},
     {"limit", Kind::length_limit}}};

Command old_command(const Results& results) {
  const auto setting = [&](const char* key) {
    const auto it = results.settings.find(key);
    return it != results.settings.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  const std::string text = setting("command");
  if (text == "scan") return Command::scan;
  if (text == "compare") return Command::compare;
  if (text == "diff") return Command::diff;
  if (text == "converge") {
    return setting("synthetic").empty() ? Command::converge : Command::simulate;
  }
  if (text != "reproduce") return Command::unknown;
  return setting("experiment") == "limits" ? Command::reproduce_limits : Command::reproduce_tokens;
}

}  // namespace

FactSource source_of_schema_1(const std::string& text, std::vector<Index> cell) {
  for (const auto& [word, kind] : kWords) {
    if (text == word) return {kind};
  }
  for (const auto& [prefix, kind] : kPrefixes) {
    if (text.starts_with(prefix)) return {kind, text.substr(prefix.size()), std::move(cell)};
  }
  return {Kind::cell, text, std::move(cell)};
}

void complete_schema_1(Results& results) {
  constexpr std::string_view kChange = "_change";
  results.command = old_command(results);
  results.settings.erase("command");
  for (auto& [name, metric] : results.metrics) {
    give_meaning(name, metric);
    if (!name.ends_with(kChange)) continue;
    const std::string of = name.substr(0, name.size() - kChange.size());
    if (results.metric(of) != nullptr) metric.change_of = of;
  }
}

}  // namespace headgauge
