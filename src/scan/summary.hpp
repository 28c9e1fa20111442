// Five or six sentences for people: what this model's heads do, where they stop selecting, what to
// do about it.
#pragma once

#include <string>
#include <vector>

#include "headgauge/results.hpp"

namespace headgauge {

// A number in a line, and where it comes from, so that every one can be checked.
struct Fact {
  std::string text;  // as it stands in the line
  // The name of a metric; "stderr.NAME" (its standard error); "coords.NAME" (cell: the index);
  // "settings.NAME"; "flags.NAME" (how many of that name there are); "heads" (how many were
  // measured); "heads.NAME" (how many of them have a value of at least 1 in that metric); "rule" (a
  // fixed number of the rule that the line states); "searched" (see critical_range()); "limit" (the
  // largest whole number below 6 % of the longest length).
  std::string metric;
  std::vector<Index> cell;  // along the metric's dims
  double value = 0;         // unrounded
  double scale = 1;         // text = rounded value * scale (100 for a percentage)
};

struct SummaryLine {
  std::string text;
  std::vector<Fact> facts;         // in the order of the text
  std::vector<std::string> heads;  // "layer.head" as they stand in the text
};

// Whether the test behind critical N could reject anything with so many heads: the asymptotic p of
// two samples of n that do not overlap at all is about 2 exp(-n), which must be below the level.
bool critical_n_can_reject(const Results& results, std::size_t heads);

// At most six lines, fewer where the results hold too little. Results::flags must be filled in.
std::vector<SummaryLine> summary_lines(const Results& results);

// Only the texts.
std::vector<std::string> summarize(const Results& results);

}  // namespace headgauge
