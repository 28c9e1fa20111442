// What changed most, in sentences.
#pragma once

#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// A sentence for each of the first changes of single heads in `list`, which is that of
// list_changes(results): each of another metric and another head.
std::vector<SummaryLine> change_sentences(const Results& results, const ChangeList& list);

}  // namespace headgauge
