// Describes the largest changes in sentences.
#pragma once

#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// Makes one sentence for each of the first changes of single heads in `list`, each about another
// metric and another head. `list` must come from list_changes(results).
std::vector<SummaryLine> change_sentences(const Results& results, const ChangeList& list);

}  // namespace headgauge
