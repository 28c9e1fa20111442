// Summarises the changes in sentences.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headgauge/diff.hpp"
#include "results/change_sentences.hpp"
#include "results/sentences.hpp"

namespace headgauge {

std::vector<SummaryLine> summarize_changes(const Results& diff, const ChangeList& list) {
  std::vector<SummaryLine> lines = sentences_about("diff", diff, {});
  std::ranges::move(change_sentences(diff, list), std::back_inserter(lines));
  Scope scope;
  const auto give_count = [&](const char* name, double count) {
    scope.give(name, computed(count));
  };
  if (list.values > 0) {
    give_count("changed", static_cast<double>(list.changed));
    give_count("values", static_cast<double>(list.values));
    give_count("by_chance", std::ceil(list.by_chance));
    scope.give("level", Fact{fmt::format("{:g}", 100 * list.level),
                             {FactSource::Kind::setting, "level"},
                             list.level,
                             100});
  }
  if (!diff.flags.empty()) {
    const auto count = [&](const char* change) {
      return static_cast<double>(std::ranges::count(diff.flags, change, &Flag::change));
    };
    give_count("gained_flags", count("gained"));
    give_count("lost_flags", count("lost"));
  }
  add_sentences("changed", diff, scope, lines);
  return lines;
}

}  // namespace headgauge
