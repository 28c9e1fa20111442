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
  if (list.values > 0) {
    scope.count("changed", list.changed)
        .count("values", list.values)
        .count("by_chance", std::ceil(list.by_chance))
        .give("level", Fact{fmt::format("{:g}", 100 * list.level),
                            {FactSource::Kind::setting, "level"},
                            list.level,
                            100});
  }
  if (!diff.flags.empty()) {
    scope.count("gained_flags", std::ranges::count(diff.flags, "gained", &Flag::change))
        .count("lost_flags", std::ranges::count(diff.flags, "lost", &Flag::change));
  }
  add_sentences("changed", diff, scope, lines);
  return lines;
}

}  // namespace headgauge
