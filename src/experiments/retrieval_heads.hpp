// Finds the heads that lose answers when they alone are changed (docs/mathematics.md 7c).
#pragma once

#include <span>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/results.hpp"

namespace headgauge {

// The changes of the answer loss under one intervention: by group of cases, then head.
using AnswerChanges = std::vector<std::vector<Estimate>>;

// Returns for each head whether the mean of its changes over the groups, all but `left_out` (-1:
// none), is shown to be above 0: one-sided t test, with the false discovery rate `level` over the
// heads. A head that lacks a change in a group is not found.
std::vector<bool> find_retrieval_heads(const AnswerChanges& changes, double level,
                                       Index left_out = -1);

// Writes retrieval_head, found_answer_change and other_answer_change; `changes` is by intervention.
void write_retrieval_heads(std::span<const AnswerChanges> changes, std::span<const HeadName> heads,
                           double level, Results& results);

}  // namespace headgauge
